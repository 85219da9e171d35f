// What one more known feature would be expected to change.

import { askJson, attempt, pathOf } from "./server.js";
import { decimals, knownRow, names, numberCell, on, pick, state, switchFeature } from "./state.js";

const at = (id) => document.getElementById(id);
const FEW = 8;

async function estimate() {
  const found = await attempt(() => askJson(pathOf(state.model.name, "gains"), { json: { row: knownRow() } }));
  if (!found) return;
  if (!found.features.length) {
    at("gains").replaceChildren(element("p", {}, "Every feature is known. Switch some off to see which would be worth knowing."));
    return;
  }
  const listed = [...found.features].sort((a, b) => pick(b.expected) - pick(a.expected));
  const most = pick(listed[0].expected) || 1;
  const lines = listed.slice(0, FEW).map((one) => gainLine(one, most));
  const head = element("tr", {}, element("th", { scope: "col" }, "Feature"), element("th", { scope: "col" }, element("span", { class: "hidden" }, "Bar")),
    element("th", { scope: "col", class: "num" }, "Moves it by"), element("th", { scope: "col", class: "num" }, "Middle 80 %"));
  const more = listed.length > FEW ? ` The ${FEW} largest of ${listed.length}.` : "";
  at("gains").replaceChildren(element("table", { class: "bars" }, element("thead", {}, head), element("tbody", {}, ...lines)),
    element("p", { class: "note" }, `Mean absolute change if its value is drawn from ${found.from}, whatever else is known, and where the prediction would then be.${more}`));
}

function gainLine(one, most) {
  const svg = make("svg", { class: "bar", "aria-hidden": "true" });
  svg.append(make("rect", { class: "size", width: `${(100 * pick(one.expected)) / most}%`, height: "100%" }));
  const name = element("th", { scope: "row" }, ...breakable(one.feature));
  if (state.off.has(one.feature) && state.row[one.feature] !== null) {
    const button = element("button", { type: "button", class: "open", "aria-label": `Switch ${one.feature} on` }, "on");
    button.addEventListener("click", () => switchFeature(one.feature, true));
    name.append(" ", button);
  }
  const range = `${plain(pick(one.low), decimals())} to ${plain(pick(one.high), decimals())}`;
  return element("tr", { "data-name": one.feature }, name, element("td", {}, svg),
    numberCell(pick(one.expected), `±\u00a0${plain(pick(one.expected), decimals())}`), element("td", { class: "num" }, range));
}

function forget() {
  const absent = names().some((name) => state.off.has(name) || state.row[name] === null);
  at("gains").replaceChildren(...(absent ? [] : [element("p", { class: "note" }, "Every feature is known.")]));
}

export function listenToGains() {
  on("row", forget);
  on("cell", forget);
  at("ask-gains").addEventListener("click", estimate);
}
