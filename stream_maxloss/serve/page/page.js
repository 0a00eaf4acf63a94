"use strict";
// The state comes whole at first and then by what is new; all of it is drawn from one object.

const $ = (id) => document.getElementById(id);
const whole = new Intl.NumberFormat("en");
const state = { points: [], added: 0 };
const charts = new Map();
const MOST_POINTS = 600;

const cell = (tag, text, kind) => {
  const found = document.createElement(tag);
  found.textContent = text;
  if (kind) found.className = kind;
  return found;
};

const list = (place, entries) => {
  place.replaceChildren(...entries.filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => {
    const box = document.createElement("div");
    box.append(cell("dt", name), cell("dd", value));
    return box;
  }));
};

const table = (place, heads, rows) => {
  const head = document.createElement("thead");
  const line = document.createElement("tr");
  line.append(...heads.map((text) => { const th = cell("th", text); th.scope = "col"; return th; }));
  head.append(line);
  const body = document.createElement("tbody");
  body.append(...rows);
  place.replaceChildren(head, body);
};

const duration = (seconds) => {
  if (seconds === null || seconds === undefined) return null;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
};

const bytes = (size) => size === null || size === undefined ? null
  : size > 1 << 20 ? `${(size / (1 << 20)).toFixed(1)} MiB` : `${(size / 1024).toFixed(0)} KiB`;

const chart = (key, parent, title, lines, height) => {
  if (!charts.has(key)) charts.set(key, new Chart(parent, title, lines, height));
  return charts.get(key);
};

const isKnown = (value) => value !== null && value !== undefined;

const drawNow = () => {
  const now = state.now || {};
  const lag = isKnown(now.lag) ? `${short(now.lag)} ${now.lag_unit || ""}` : null;
  list($("now"), [
    ["rows", whole.format(now.rows || 0)],
    ["rows a second", short(now.recent_rate)],
    ["left to read", lag],
    ["waiting to be learned", now.queue === undefined ? null : whole.format(now.queue)],
    ["waiting for a label", now.waiting ? whole.format(now.waiting.rows) : null],
    ["bad rows", whole.format(now.bad || 0)],
    ["last checkpoint", isKnown(now.checkpoint_seconds) ? `${duration(now.checkpoint_seconds)} ago` : isKnown(now.checkpoint) ? `number ${whole.format(now.checkpoint)}` : null],
    ["running for", duration(now.uptime_seconds)],
    ["as of", now.ended ? new Date(now.ended).toLocaleString() : null],
  ]);
};

const drawAlerts = () => {
  const now = state.now || {};
  const found = (now.alerts || []).map((text) => `alert: ${text}`);
  const worse = badSlices();
  if (worse.length) found.push(`going bad: ${worse.slice(0, 3).join(", ")}${worse.length > 3 ? ` and ${worse.length - 3} more` : ""}`);
  if (now.checkpoint_seconds > 120) found.push(`no checkpoint for ${duration(now.checkpoint_seconds)}`);
  if (now.no_better) found.push(now.no_better);
  const place = $("alerts");
  const lines = found.length ? found : [now.rows ? "no alerts" : "waiting for the first rows"];
  place.dataset.state = found.length ? "bad" : "good";
  if (place.innerText !== lines.join("\n")) place.replaceChildren(...lines.map((text) => cell("p", text)));
};

// The newest report that had rows of a slice: one that went bad is bad until better rows come.
const latest = (name) => {
  for (const point of state.points.toReversed())
    if (point.slices[name] && point.slices[name][2] !== null) return point.slices[name];
  return null;
};

// How many rows of a slice the newest report with such has brought.
const fresh = (name) => {
  const counts = state.points.map((point) => (point.slices[name] || [0])[0]);
  const last = counts[counts.length - 1] || 0;
  return last - (counts.findLast((count) => count < last) || 0);
};

// A slice goes bad when its metric since the last report is far from what it was over all of its rows.
const badSlices = () => {
  const metric = state.slices && state.slices.metric;
  const larger = ["MAE", "MSE", "LogLoss", "CrossEntropy"].includes(metric);
  const names = state.slices ? state.slices.slices.map((slice) => slice.name) : [];
  return names.filter((name) => {
    const [rows, total, since] = latest(name) || [0, null, null];
    if (since === null || total === null || rows < 30) return false;
    const gap = larger ? since - total : total - since;
    const luck = larger ? 0 : 1.25 / Math.sqrt(Math.max(1, fresh(name)));  // 2.5 deviations of a share of so few rows
    return gap > Math.max(0.15, 0.25 * Math.abs(total), luck);
  });
};

const drawCurves = () => {
  const times = state.points.map((point) => point.time);
  const names = new Set(state.points.flatMap((point) => Object.keys(point.scores)));
  for (const name of names) {
    const column = (i) => state.points.map((point) => (point.scores[name] || [])[i] ?? null);
    chart(`score ${name}`, $("curves"), name, [
      { label: "all rows", colour: "total" },
      { label: "since last report", colour: "since", width: 1.5 },
      { label: "constant prediction", colour: "baseline", dash: [5, 4], width: 1.5 },
    ]).draw([times, column(0), column(1), column(2)]);
  }
  chart("rate", $("curves"), "Rows a second", [{ label: "now", colour: "total" }])
    .draw([times, state.points.map((point) => point.rate)]);
  if (state.points.some((point) => point.lag > 0))
    chart("lag", $("curves"), "Left to read", [{ label: "now", colour: "since" }])
      .draw([times, state.points.map((point) => point.lag)]);
};

const drawSlices = () => {
  const report = state.slices;
  $("slices-section").hidden = !report;
  if (!report) return;
  const metrics = Object.keys(report.overall).filter((name) => name !== "rows");
  const since = (name) => (latest(name) || [0, null, null])[2];
  const bad = badSlices();
  const order = [...report.slices].sort((a, b) => bad.includes(b.name) - bad.includes(a.name));
  table($("slices"), [report.by, "rows", ...metrics, `${report.metric} since last`], order.slice(0, 50).map((slice) => {
    const line = document.createElement("tr");
    const worst = slice.name === report.worst || bad.includes(slice.name);
    if (worst) line.className = "worst";
    const head = cell("th", slice.name, "text");
    if (worst) head.append(cell("span", bad.includes(slice.name) ? "going bad" : "worst", "badge"));
    head.scope = "row";
    line.append(head, cell("td", whole.format(slice.rows)), ...metrics.map((name) => cell("td", short(slice[name]))),
      cell("td", short(since(slice.name)), bad.includes(slice.name) ? "worse" : ""));
    return line;
  }));
  const shown = order.slice(0, 6).map((slice) => slice.name);
  for (const key of [...charts.keys()])
    if (key.startsWith("slice ") && !shown.includes(key.slice(6))) { charts.get(key).remove(); charts.delete(key); }
  const times = state.points.map((point) => point.time);
  for (const name of shown) {
    const found = chart(`slice ${name}`, $("slice-curves"), `${report.by} = ${name}`, [
      { label: `${report.metric}, all rows`, colour: "total" },
      { label: "since last", colour: "since", width: 1.5 },
    ], 130);
    found.figure.classList.toggle("bad", bad.includes(name));
    found.draw([times, ...[1, 2].map((i) => state.points.map((point) => (point.slices[name] || [])[i] ?? null))]);
    if ($("slice-curves").children[shown.indexOf(name)] !== found.figure)
      $("slice-curves").insertBefore(found.figure, $("slice-curves").children[shown.indexOf(name)] || null);
  }
};

const pairs = (title, entries, kind) => {
  const box = document.createElement("div");
  const lines = document.createElement("table");
  lines.append(...entries.map(([name, value]) => {
    const line = document.createElement("tr");
    const head = cell("th", name);
    head.scope = "row";
    line.append(head, cell("td", value, kind ? kind(value) : ""));
    return line;
  }));
  box.append(cell("h3", title), lines);
  return box;
};

const signed = (value) => `${value < 0 ? "−" : "+"}${short(Math.abs(value))}`;
const side = (text) => text.startsWith("−") ? "against" : "for";

const hardRow = (row, open) => {
  const key = row.origin || JSON.stringify(row.x);
  const found = document.createElement("details");
  found.dataset.key = key;
  found.open = open.has(key);
  const summary = document.createElement("summary");
  const place = cell("span", row.origin || `${whole.format(row.age)} rows ago`, "origin");
  place.append(" ", cell("small", `label ${row.y}${row.slice ? `, ${row.slice}` : ""}`));
  const reasons = (row.reasons || []).filter((reason) => reason.contribution);
  const wrong = reasons.filter((reason) => reason.contribution < 0);
  const against = wrong.find((reason) => reason.condition !== "always") || wrong[0];
  summary.append(place, cell("span", `loss ${short(row.loss)}`), cell("span", `${(100 * row.weight).toFixed(2)} % weight`, "share faint"),
    cell("span", against ? `misled by ${against.condition === "always" ? "the constant" : against.condition} (${signed(against.contribution)})` : "", "why faint"));
  const detail = document.createElement("div");
  detail.className = "detail";
  if (reasons.length) detail.append(pairs("for its label (+) and against (−)", reasons.map((r) => [r.condition, signed(r.contribution)]), side));
  const text = (value) => typeof value === "number" ? String(+value.toPrecision(6)) : String(value);
  detail.append(pairs("the row", Object.entries(row.row || row.x).map(([name, value]) => [name, text(value)])));
  const facts = [["rows since", whole.format(row.age)], ["replays", isKnown(row.replays) ? whole.format(row.replays) : null], ["key", row.key]];
  detail.append(pairs("in the game", facts.filter(([, value]) => isKnown(value))));
  found.append(summary, detail);
  const item = document.createElement("li");
  item.append(found);
  return item;
};

const drawHard = () => {
  $("hard-section").hidden = !state.hard || !state.hard.length;
  if (!state.hard) return;
  const open = new Set([...$("hard").querySelectorAll("details[open]")].map((found) => found.dataset.key));
  const active = document.activeElement && document.activeElement.closest("#hard details");
  $("hard").replaceChildren(...state.hard.map((row) => hardRow(row, open)));
  const again = active && [...$("hard").querySelectorAll("details")].find((found) => found.dataset.key === active.dataset.key);
  if (again) again.querySelector("summary").focus();
  const focus = state.focus;
  $("focus").textContent = focus ? `The focus holds ${whole.format(focus.rows)} of at most ${whole.format(focus.window)} rows and is about `
    + `${short(Math.round(focus.effective_rows))} of them; its hardest 1 % has ${(100 * focus.top_1_percent_share).toFixed(0)} % of the weight. `
    + `${whole.format(focus.replays)} replays so far.` : "";
};

const drawExperts = () => {
  $("experts-section").hidden = !state.experts;
  if (!state.experts) return;
  table($("experts"), ["expert", "weight", ""], state.experts.slice(0, 12).map((expert) => {
    const line = document.createElement("tr");
    const head = cell("th", expert.name, "text");
    head.scope = "row";
    const bar = document.createElement("meter");
    bar.max = 1;
    bar.value = expert.weight || 0;
    bar.setAttribute("aria-label", `weight of ${expert.name}`);
    const place = document.createElement("td");
    place.append(bar);
    line.append(head, cell("td", `${(100 * (expert.weight || 0)).toFixed(1)} %`), place);
    return line;
  }));
};

const drawFacts = () => {
  const facts = state.facts || {};
  $("name").textContent = (state.now && state.now.service) || "maxloss";
  $("source").textContent = facts.source || "";
  document.title = `${$("name").textContent} · ${whole.format((state.now || {}).rows || 0)} rows`;
  list($("facts"), [["model", facts.model], ["target", facts.target], ["slices by", facts.slice_by],
    ["memory", bytes(facts.bytes)], ["version", facts.version], ["Python", facts.python]]);
};

const draw = () => {
  drawFacts(); drawNow(); drawAlerts(); drawCurves(); drawSlices(); drawHard(); drawExperts();
};

const say = (kind, text) => { $("link").dataset.state = kind; $("link").textContent = text; };

const connect = () => {
  const events = new EventSource("events");
  const take = (fresh, append) => {
    const points = append ? [...state.points, ...fresh.points].slice(-MOST_POINTS) : fresh.points;
    Object.assign(state, fresh, { points });
    draw();
    say("live", `live, ${new Date().toLocaleTimeString()}`);
  };
  events.addEventListener("state", (event) => take(JSON.parse(event.data), false));
  events.addEventListener("news", (event) => take(JSON.parse(event.data), true));
  events.onerror = () => {
    say("lost", "connection lost, trying again");
    if (events.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
  };
};

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const found of charts.values()) found.build();
});
connect();
