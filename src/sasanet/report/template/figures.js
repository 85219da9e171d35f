// Figures as SVG elements; their colours are in the style sheet.

function make(tag, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Text that may break after an underscore.
function breakable(text) {
  return text.split("_").flatMap((part, i) => (i ? ["_", document.createElement("wbr"), part] : [part]));
}

function plot(width, height, label) {
  return make("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
}

function scale(low, high, from, to) {
  const reach = high - low || 1;
  return (value) => from + ((value - low) / reach) * (to - from);
}

// The largest round number (1, 2 or 5 times a power of ten) that is not above the given one.
function roundStep(reach) {
  const power = 10 ** Math.floor(Math.log10(reach || 1));
  return [1, 2, 5, 10].map((f) => f * power).filter((step) => step <= reach * 1.0001).pop() || power;
}

function ticks(low, high, count = 3) {
  const step = roundStep((high - low) / count), found = [];
  for (let t = Math.ceil(low / step); t * step <= high + 1e-9 * step; t++) found.push(Number((t * step).toPrecision(6)));
  return found;
}

function rough(value) {
  return shown(Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(3)));
}

function cut(text, length) {
  return text.length <= length ? text : text.slice(0, length - 1) + "…";
}

// One line of a dependence table: [label, x, mean, low, high, from, to, count].
function numberFigure(lines, label) {
  const points = lines.filter((line) => line[1] !== null);
  const width = 320, height = 190, left = 44, right = 310, top = 8, bottom = 160;
  const svg = plot(width, height, label);
  const ends = points.flatMap((p) => [p[5], p[6], p[3], p[4]]).concat(0);
  const y = scale(Math.min(...ends), Math.max(...ends), bottom, top);
  const x = points.length > 1 ? scale(0, points.length - 1, left + 8, right - 4) : () => (left + right) / 2;
  for (const tick of ticks(Math.min(...ends), Math.max(...ends))) {
    svg.append(make("line", { class: tick ? "axis" : "zero", x1: left, x2: right, y1: y(tick), y2: y(tick) }));
    svg.append(make("text", { x: left - 5, y: y(tick) + 4, "text-anchor": "end" }, String(tick).replace("-", "−")));
  }
  const upper = points.map((p, i) => `${x(i)},${y(p[6])}`), lower = points.map((p, i) => `${x(i)},${y(p[5])}`);
  if (points.length > 1) {
    svg.append(make("polygon", { class: "band", points: upper.concat(lower.reverse()).join(" ") }));
    svg.append(make("polyline", { class: "curve", points: points.map((p, i) => `${x(i)},${y(p[2])}`).join(" ") }));
  }
  points.forEach((p, i) => {
    svg.append(make("line", { class: "whisker", x1: x(i), x2: x(i), y1: y(p[3]), y2: y(p[4]) }));
    const dot = make("circle", { class: "dot", cx: x(i), cy: y(p[2]), r: 2.6 });
    dot.append(make("title", {}, `${p[0]}: ${plain(p[2], 3)} (${p[7]} rows)`));
    svg.append(dot);
  });
  const at = points.length > 2 ? [0, points.length >> 1, points.length - 1] : points.map((_, i) => i);
  at.forEach((i, n) => {
    const anchor = at.length > 1 ? ["start", n === at.length - 1 ? "end" : "middle", "end"][n] : "middle";
    svg.append(make("text", { x: anchor === "start" ? left : anchor === "end" ? right : x(i), y: bottom + 20, "text-anchor": anchor }, rough(points[i][1])));
  });
  return svg;
}

function levelFigure(lines, label) {
  const width = 320, row = 19, left = 132, right = 308, height = row * lines.length + 24;
  const svg = plot(width, height, label);
  const ends = lines.flatMap((line) => [line[5], line[6], line[3], line[4]]).concat(0);
  const low = Math.min(...ends), high = Math.max(...ends), x = scale(low, high, left + 6, right - 6);
  for (const tick of ticks(low, high, 2)) {
    svg.append(make("line", { class: tick ? "axis" : "zero", x1: x(tick), x2: x(tick), y1: 2, y2: row * lines.length + 4 }));
    svg.append(make("text", { x: x(tick), y: height - 5, "text-anchor": "middle" }, String(tick).replace("-", "−")));
  }
  lines.forEach((line, i) => {
    const y = row * i + row / 2 + 2;
    const word = make("text", { class: "word", x: left - 4, y: y + 4, "text-anchor": "end" }, cut(line[0], 18));
    word.append(make("title", {}, `${line[0]}: ${plain(line[2], 3)} (${line[7]} rows)`));
    svg.append(word);
    svg.append(make("rect", { class: "band", x: x(line[5]), width: Math.max(1, x(line[6]) - x(line[5])), y: y - 4, height: 8 }));
    svg.append(make("line", { class: "whisker", x1: x(line[3]), x2: x(line[4]), y1: y, y2: y }));
    svg.append(make("circle", { class: "dot", cx: x(line[2]), cy: y, r: 3 }));
  });
  return svg;
}

function dependenceFigure(feature, output, units) {
  const lines = feature.outputs[output], figure = element("figure");
  const caption = element("figcaption", {}, feature.name);
  const missing = lines.filter((line) => line[0] === "(missing)")[0];
  const curve = !feature.levels && lines.some((line) => line[1] !== null);
  if (curve && missing) caption.append(element("small", {}, `missing in ${missing[7]} rows, where it adds 0`));
  const means = lines.map((line) => line[2]);
  const label = `Attribution of ${feature.name} by its value, in ${units}: means from ${plain(Math.min(...means), 3)} to ${plain(Math.max(...means), 3)}`;
  figure.append(caption, curve ? numberFigure(lines, label) : levelFigure(lines, label));
  return figure;
}

function calibrationFigure(found, task, ofQuantiles) {
  const width = 320, height = 300, left = 56, right = 308, top = 10, bottom = 258;
  const bins = found.bins, ends = bins.flatMap((b) => [b.predicted, b.observed, b.low, b.high]).filter((v) => v !== null);
  const low = task === "regression" ? Math.min(...ends) : 0, high = task === "regression" ? Math.max(...ends) : Math.max(...ends, 0.1);
  const svg = plot(width, height, `Calibration: mean difference of predicted and observed ${found.error.toPrecision(3)}; chance alone would give ${found.noise.toPrecision(3)}`);
  const x = scale(low, high, left, right), y = scale(low, high, bottom, top);
  for (const tick of ticks(low, high)) {
    const word = String(tick).replace("-", "−");
    svg.append(make("line", { class: "axis", x1: left, x2: right, y1: y(tick), y2: y(tick) }));
    svg.append(make("text", { x: left - 5, y: y(tick) + 4, "text-anchor": "end" }, word));
    svg.append(make("text", { x: x(tick), y: bottom + 16, "text-anchor": "middle" }, word));
  }
  svg.append(make("line", { class: "zero", x1: x(low), y1: y(low), x2: x(high), y2: y(high) }));
  for (const bin of bins) {
    if (bin.low !== null) svg.append(make("line", { class: "whisker", x1: x(bin.predicted), x2: x(bin.predicted), y1: y(bin.low), y2: y(bin.high) }));
    svg.append(make("circle", { class: "dot", cx: x(bin.predicted), cy: y(bin.observed), r: 3.4 }));
  }
  svg.append(make("text", { x: (left + right) / 2, y: height - 6, "text-anchor": "middle" }, ofQuantiles ? "quantile" : task === "regression" ? "predicted" : "predicted probability"));
  svg.append(make("text", { x: -(top + bottom) / 2, y: 11, transform: "rotate(-90)", "text-anchor": "middle" }, ofQuantiles ? "share below" : task === "regression" ? "observed" : "observed share"));
  return svg;
}

// A bar from start to end within [low, high], with a line at the base value.
function barBetween(start, end, low, high, base) {
  const at = scale(low, high, 0, 100), svg = make("svg", { class: "bar", "aria-hidden": "true" });
  svg.append(make("line", { class: "ruler", x1: at(base) + "%", x2: at(base) + "%", y1: "-35%", y2: "135%" }));
  const from = Math.min(at(start), at(end)), width = Math.max(Math.abs(at(end) - at(start)), 0.4);
  svg.append(make("rect", { class: end >= start ? "up" : "down", x: from + "%", width: width + "%", height: "100%" }));
  return svg;
}
