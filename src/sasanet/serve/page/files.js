// A CSV file sent and taken back with reasons; and what the server was asked lately.

import { ask, askJson, attempt, pathOf } from "./server.js";
import { numberCell, on, state } from "./state.js";

const at = (id) => document.getElementById(id);
const FEW = 10;
let address = "";

async function send(event) {
  event.preventDefault();
  const file = at("csv").files[0];
  at("csv-done").replaceChildren(element("p", {}, "Waiting for the answer …"));
  const answer = await attempt(() => ask(pathOf(state.model.name, "csv"), { body: file }));
  if (!answer) return at("csv-done").replaceChildren();
  URL.revokeObjectURL(address);
  address = URL.createObjectURL(await answer.blob());
  const name = file.name.replace(/(\.csv)?$/i, "_with_reasons.csv");
  const link = element("a", { href: address, download: name }, `Save ${name}`);
  at("csv-done").replaceChildren(element("p", {}, link));
  link.focus();
}

async function look() {
  const found = await attempt(() => askJson(pathOf(state.model.name, "drift")));
  if (!found) return;
  if (!found.rows) return at("drift").replaceChildren(element("p", {}, "Nobody has asked anything yet since this version is served."));
  const moved = (one) => Math.abs((one.attribution ?? 0) - (one.training ?? 0));
  const size = (one) => Math.max(one.unknown_level ?? 0, one.out_of_range ?? 0, one.missing ?? 0);
  const listed = [...found.columns].sort((a, b) => size(b) - size(a) || moved(b) - moved(a)).slice(0, FEW);
  const share = (value) => numberCell(value ?? 0, percent(value ?? 0));
  const mean = (value) => (value === undefined ? element("td", { class: "num" }, "–") : numberCell(value, plain(value, 3)));
  const lines = listed.map((one) => element("tr", { "data-name": one.name }, element("th", { scope: "row" }, ...breakable(one.name)),
    share(one.missing), share(one.unknown_level), share(one.out_of_range), mean(one.attribution), mean(one.training)));
  const titles = ["Missing", "Unknown level", "Out of range", "Mean |attribution|", "in training"];
  const head = element("tr", {}, element("th", { scope: "col" }, "Feature"), ...titles.map((word) => element("th", { scope: "col", class: "num" }, word)));
  const more = found.columns.length > FEW ? ` ${FEW} of ${found.columns.length} features.` : "";
  at("drift").replaceChildren(
    element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Drift by feature" },
      element("table", {}, element("thead", {}, head), element("tbody", {}, ...lines))),
    element("p", { class: "note" }, `${found.rows.toLocaleString("en")} rows so far; the last thousand or so count.${more}`));
}

export function listenToFiles() {
  on("model", () => { at("drift").replaceChildren(); at("csv-done").replaceChildren(); });
  at("csv-form").addEventListener("submit", send);
  at("ask-drift").addEventListener("click", look);
}
