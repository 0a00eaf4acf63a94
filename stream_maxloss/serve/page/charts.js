"use strict";
// Curves: one uPlot each, with a sentence for those who do not see it.

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const short = (value) => {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 1e9) return `${(value / 1e9).toFixed(1)} G`;
  if (size >= 1e6) return `${(value / 1e6).toFixed(1)} M`;
  if (size >= 1e4) return `${(value / 1e3).toFixed(1)} k`;
  return Number.isInteger(value) ? String(value) : value.toPrecision(4);
};

class Chart {
  // One figure: a title, what it shows in words, and the lines.
  constructor(parent, title, lines) {
    this.lines = lines;
    this.figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    const name = document.createElement("b");
    name.textContent = title;
    this.words = document.createElement("span");
    caption.append(name, this.words);
    this.place = document.createElement("div");
    this.place.setAttribute("role", "img");
    this.figure.append(caption, this.place);
    parent.append(this.figure);
    this.title = title;
    this.data = [[]];
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.figure);
  }

  get width() { return Math.max(200, this.figure.clientWidth - 18); }

  build() {
    if (this.plot) this.plot.destroy();
    const axis = { stroke: colour("faint"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line") } };
    this.plot = new uPlot({
      width: this.width,
      height: 190,
      cursor: { y: false },
      scales: { x: { time: true } },
      axes: [axis, { ...axis, size: 60, values: (_, ticks) => ticks.map(short) }],
      series: [{}, ...this.lines.map((line) => ({
        label: line.label,
        stroke: colour(line.colour),
        width: line.width || 2,
        dash: line.dash,
        spanGaps: true,
        points: { show: this.data[0].length < 3 },
        value: (_, value) => short(value),
      }))],
    }, this.data, this.place);
  }

  resize() {
    if (this.plot && this.plot.width !== this.width) this.plot.setSize({ width: this.width, height: 190 });
  }

  draw(data) {
    const grown = this.data[0].length < 3 && data[0].length >= 3;
    this.data = data;
    if (!this.plot || grown) this.build();
    else this.plot.setData(data);
    const last = (values) => values.length ? values[values.length - 1] : null;
    const words = this.lines.map((line, i) => `${line.label} ${short(last(data[i + 1]))}`).join(", ");
    this.words.textContent = words;
    this.place.setAttribute("aria-label", `${this.title} over ${data[0].length} reports: ${words}`);
  }

  remove() {
    this.observer.disconnect();
    if (this.plot) this.plot.destroy();
    this.figure.remove();
  }
}
