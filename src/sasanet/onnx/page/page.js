"use strict";

// A form of the file's inputs; every change runs the whole graph again, here in the browser.

function element(name, words, ...inside) {
  const made = Object.assign(document.createElement(name), words);
  made.append(...inside);
  return made;
}

const written = (number) => Number(number.toPrecision(4)).toString().replace("-", "−");

function fieldOf(column) {
  if (column.input === "text" || column.levels) {
    const levels = column.levels.map((level) => element("option", { value: Number.isFinite(level) || typeof level === "boolean"
      ? String(Number(level)) : level, textContent: String(level) }));
    const field = element("select", {}, element("option", { value: "", textContent: "(missing)" }), ...levels);
    field.selectedIndex = levels.length ? 1 : 0;
    return field;
  }
  const field = element("input", { type: "number", step: "any", placeholder: "missing" });
  if (column.range) field.value = String(Number(((column.range[0] + column.range[1]) / 2).toPrecision(3)));
  return field;
}

function cellOf(column, text) {
  if (column.input === "text") return tensor([1], [text]);
  return tensor([1], Float64Array.of(text === "" ? NaN : Number(text)));
}

function show(columns, labels, found, milliseconds) {
  const many = found.raw.shape[1], values = found.attributions && found.attributions.data;
  const shares = found.probabilities && found.probabilities.data;
  const best = shares ? shares.indexOf(Math.max(...shares)) : 0, top = many > 1 ? best : 0;
  const said = document.getElementById("said");
  const what = shares ? String(labels[best]) : written(found.prediction.data[0]);
  const share = shares ? ` (${(100 * Math.max(...shares)).toFixed(1)} %)` : "";
  said.replaceChildren(
    element("p", { id: "prediction", textContent: what + share }),
    element("p", { textContent: `${written(found.raw.data[top])} = base value ${written(found.base_value.data[top])} `
      + `and the features below, computed in ${milliseconds.toFixed(0)} ms` }),
  );
  said.dataset.raw = JSON.stringify(Array.from(found.raw.data));
  if (!values) return;
  said.dataset.attributions = JSON.stringify(Array.from(values));
  const lines = columns.map((column, j) => [column.name, values[j * many + top]]);
  const largest = Math.max(...lines.map(([, value]) => Math.abs(value)), 1e-12);
  const body = lines.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).map(([name, value]) => {
    const bar = element("span", { className: value < 0 ? "bar down" : "bar" });
    bar.style.width = `${(100 * Math.abs(value)) / largest}%`;
    return element("tr", {}, element("th", { scope: "row", textContent: name }),
      element("td", { className: "number", textContent: written(value) }), element("td", { className: "room" }, bar));
  });
  document.getElementById("features").replaceChildren(...body);
}

function start() {
  const text = atob(document.getElementById("model").textContent.trim());
  const { graph, about } = readModel(Uint8Array.from(text, (sign) => sign.charCodeAt(0)));
  const columns = JSON.parse(about.columns), labels = JSON.parse(about.labels);
  const fields = columns.map(fieldOf), form = document.getElementById("form");
  form.append(...columns.map((column, j) => element("label", {}, column.name, fields[j])));
  const run = () => {
    const known = {}, begun = performance.now();
    columns.forEach((column, j) => { known[column.name] = cellOf(column, fields[j].value); });
    show(columns, labels, runGraph(graph, known), performance.now() - begun);
  };
  form.addEventListener("input", run);
  run();
}

try {
  start();
} catch (error) {
  document.getElementById("said").textContent = `This file cannot be shown: ${error.message}`;
}
