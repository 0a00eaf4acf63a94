"use strict";
// Curves: one uPlot each, with a sentence for those who do not see it.

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const short = (value) => {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 1e9) return `${(value / 1e9).toFixed(1)} G`;
  if (size >= 1e6) return `${(value / 1e6).toFixed(1)} M`;
  if (size >= 1e4) return `${(value / 1e3).toFixed(1)} k`;
  return Number.isInteger(value) ? String(value) : value.toPrecision(3);
};

const tick = (value) => Math.abs(value) >= 1e4 || Number.isInteger(value) ? short(value) : String(+value.toFixed(4));

// Hours and minutes, with seconds where the ticks are closer, and the day where a day begins.
const clockTimes = (_, ticks, __, ___, step) => ticks.map((seconds, i) => {
  const time = new Date(1000 * seconds);
  const pad = (number) => String(number).padStart(2, "0");
  if (step >= 86400 || (i > 0 && time.getDate() !== new Date(1000 * ticks[i - 1]).getDate()))
    return `${pad(time.getDate())}.${pad(time.getMonth() + 1)}.`;
  return `${pad(time.getHours())}:${pad(time.getMinutes())}${step < 60 ? `:${pad(time.getSeconds())}` : ""}`;
});

class Chart {
  // One figure: a title, each line with its newest value (or the one under the cursor), and the lines.
  constructor(parent, title, lines, height = 190) {
    Object.assign(this, { title, lines, height, data: [[]] });
    this.figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    const name = document.createElement("b");
    name.textContent = title;
    const legend = document.createElement("ul");
    this.values = lines.map((line) => {
      const entry = document.createElement("li");
      const value = document.createElement("b");
      entry.className = line.colour;
      entry.append(`${line.label} `, value);
      legend.append(entry);
      return value;
    });
    caption.append(name, legend);
    this.place = document.createElement("div");
    this.place.setAttribute("role", "img");
    this.figure.append(caption, this.place);
    parent.append(this.figure);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.figure);
  }

  get width() { return Math.max(200, this.figure.clientWidth - 22); }

  build() {
    if (this.plot) this.plot.destroy();
    const axis = {
      stroke: colour("faint"), font: "12px system-ui, sans-serif",
      grid: { stroke: colour("line"), width: 1 }, ticks: { show: false },
    };
    this.plot = new uPlot({
      width: this.width,
      height: this.height,
      legend: { show: false },
      cursor: { y: false },
      scales: { x: { time: true } },
      axes: [{ ...axis, size: 34, space: 80, values: clockTimes }, { ...axis, size: 52, values: (_, ticks) => ticks.map(tick) }],
      hooks: { setCursor: [(plot) => this.tell(plot.cursor.idx)] },
      series: [{}, ...this.lines.map((line) => ({
        label: line.label,
        stroke: colour(line.colour),
        width: line.width || 2,
        dash: line.dash,
        spanGaps: true,
        points: { show: this.data[0].length < 3 },
      }))],
    }, this.data, this.place);
  }

  resize() {
    if (this.plot && this.plot.width !== this.width) this.plot.setSize({ width: this.width, height: this.height });
  }

  draw(data) {
    const grown = this.data[0].length < 3 && data[0].length >= 3;
    this.data = data;
    if (!this.plot || grown) this.build();
    else this.plot.setData(data);
    this.tell(null);
  }

  tell(place) {
    const newest = (values) => values.findLast((value) => value !== null && value !== undefined);
    const found = this.lines.map((_, i) => short(place === null || place === undefined ? newest(this.data[i + 1]) : this.data[i + 1][place]));
    found.forEach((text, i) => { if (this.values[i].textContent !== text) this.values[i].textContent = text; });
    const words = this.lines.map((line, i) => `${line.label} ${found[i]}`).join(", ");
    this.place.setAttribute("aria-label", `${this.title} over ${this.data[0].length} reports: ${words}`);
  }

  remove() {
    this.observer.disconnect();
    if (this.plot) this.plot.destroy();
    this.figure.remove();
  }
}
