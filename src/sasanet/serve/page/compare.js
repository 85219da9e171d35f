// A row that was kept beside the row at hand: what makes one score higher than the other.

import { cellText, decimals, inWords, knownRow, names, numberCell, on, pick, state } from "./state.js";

const at = (id) => document.getElementById(id);
const FEW = 12;
let kept = null;

function keep() {
  kept = { row: knownRow(), name: at("row-name").textContent, answer: state.answer };
  at("drop").hidden = false;
  show();
}

function drop() {
  kept = null;
  at("drop").hidden = true;
  at("comparison").replaceChildren(element("p", { class: "note" }, "Keep a row, then change it or choose another one."));
}

function show() {
  if (!kept || !state.answer) return;
  const mine = state.answer, theirs = kept.answer, now = knownRow();
  const gap = (name) => pick(mine.attributions[name]) - pick(theirs.attributions[name]);
  const listed = names().filter((name) => gap(name) !== 0).sort((a, b) => Math.abs(gap(b)) - Math.abs(gap(a)));
  const lines = listed.slice(0, FEW).map((name) => differenceLine(name, gap(name), now[name], kept.row[name]));
  const rest = listed.slice(FEW).reduce((sum, name) => sum + gap(name), 0);
  if (listed.length > FEW) lines.push(sumLine(`${listed.length - FEW} other features`, rest, "rest"));
  lines.push(sumLine("difference of the predictions", pick(mine.raw) - pick(theirs.raw), "total"));
  const head = element("tr", {}, ...["Feature", "Kept", "Now"].map((word) => element("th", { scope: "col" }, word)),
    element("th", { scope: "col", class: "num" }, "Difference"));
  at("comparison").replaceChildren(
    element("p", {}, `Kept: ${kept.name}, ${inWords(theirs.raw)}. Now: ${at("row-name").textContent}, ${inWords(mine.raw)}.`),
    element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Two rows compared" },
      element("table", {}, element("thead", {}, head), element("tbody", {}, ...lines))));
}

function differenceLine(name, gap, now, before) {
  const same = now === before, words = (value) => element("td", same ? { class: "small" } : {}, cellText(value));
  return element("tr", { class: "feature", "data-name": name }, element("th", { scope: "row" }, ...breakable(name)), words(before), words(now),
    numberCell(gap, signed(gap, decimals())));
}

function sumLine(words, value, kind) {
  return element("tr", { class: kind }, element("th", { scope: "row", colspan: "3" }, words), numberCell(value, signed(value, decimals())));
}

export function listenToComparison() {
  on("model", drop);
  on("answer", show);
  at("keep").addEventListener("click", keep);
  at("drop").addEventListener("click", drop);
}
