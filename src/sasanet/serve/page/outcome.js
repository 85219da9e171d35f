// The prediction, its reasons and the waterfall; they follow every change of the row.

import { askJson, attempt, Latest, pathOf } from "./server.js";
import {
  cellText, decimals, inWords, isKnown, knownRow, names, numberCell, on, pick, replaceText, several, state, tell, unitsOf,
} from "./state.js";

const at = (id) => document.getElementById(id);
const FEW = 10, PAUSE = 15; // lines; milliseconds in which a slider may move on
const latest = new Latest();
let whole = false, timer = 0;

// The row twice: as it is switched, and with everything that it holds.
async function follow() {
  const rows = [knownRow()];
  if (state.off.size) rows.push(Object.fromEntries(Object.entries(state.row).filter(([, value]) => value !== null)));
  const asked = { rows, trial: true };
  const found = await attempt(() => latest.ask(pathOf(state.model.name, "explain"), { json: asked }));
  if (!found) return;
  [state.answer, state.full] = [found.rows[0], found.rows[1] || null];
  state.refined = null;
  if (several() && !state.pinned) state.output = state.answer.raw.indexOf(Math.max(...state.answer.raw));
  show();
  tell("answer");
}

function later() {
  clearTimeout(timer);
  timer = setTimeout(follow, PAUSE);
}

function show() {
  const { answer, full } = state;
  at("output").value = state.output;
  at("output").closest("p").hidden = !several();
  showPrediction(answer);
  const off = names().filter((name) => state.off.has(name) && state.row[name] !== null);
  const which = off.length <= 3 ? off.join(", ") : `${off.length} features`;
  replaceText("without", full ? `Without ${which}. With everything that is known: ${inWords(full.raw)}.` : "");
  at("without").dataset.value = full ? pick(full.raw) : "";
  at("warnings").replaceChildren(...answer.warnings.map((text) => element("li", {}, text)));
  at("reasons").replaceChildren(...reasonLines(answer));
  showWaterfall(answer);
  replaceText("refined", state.refined ? `Refined with ${state.refined} random orders; ± is one standard error.` : "");
  at("main").dataset.version = String(Number(at("main").dataset.version || 0) + 1); // something new is shown
}

function showPrediction(answer) {
  const raw = pick(answer.raw), place = at("prediction");
  const big = element("span", { class: "big", "data-value": raw }, inWords(answer.raw));
  const { task, classes, units } = state.model;
  const said = task === "binary" ? ` that it is ${classes[1]}` : "";
  const amount = task === "regression" ? ` (base value ${plain(pick(answer.base_value), decimals())})`
    : ` · ${plain(raw, decimals())} ${several() ? unitsOf() : units}`;
  place.replaceChildren(big, `${said}${amount}`);
  at("mini").hidden = false;
  at("mini").replaceChildren(element("strong", {}, inWords(answer.raw)), element("span", {}, answer.reasons[0] || "nothing is known"));
  showGauge(answer);
}

// Where the prediction is between the ends that this row has seen, or the probability between 0 and 1.
function showGauge(answer) {
  const { task, classes } = state.model, gauge = at("gauge");
  if (task === "regression") return gauge.replaceChildren();
  const shares = probabilities(several() ? answer.raw : [answer.raw]);
  const listed = several() ? shares.map((share, k) => [classes[k], share]) : [[classes[1], shares[1]]];
  gauge.replaceChildren(...listed.slice(0, 8).map(([name, share]) => {
    const svg = make("svg", { class: "share" });
    svg.append(make("rect", { class: "whole", width: "100%", height: "100%", rx: 4 }));
    svg.append(make("rect", { class: "part", width: `${100 * share}%`, height: "100%", rx: 4 }));
    return element("div", { class: "line" }, element("span", { class: "word" }, String(name)), svg, element("span", { class: "num" }, percent(share)));
  }));
}

function strongest(answer) {
  const phi = (name) => Math.abs(pick(answer.attributions[name]));
  return names().filter(isKnown).sort((a, b) => phi(b) - phi(a));
}

// The server's own sentences where it explains the class that is shown, the same words for another.
function reasonLines(answer) {
  const best = several() ? answer.raw.indexOf(Math.max(...answer.raw)) : 0;
  if (state.output === best) return answer.reasons.map((text) => element("li", {}, ...breakable(text)));
  const listed = strongest(answer).slice(0, 5).filter((name) => pick(answer.attributions[name]) !== 0);
  return listed.map((name) => {
    const phi = pick(answer.attributions[name]), verb = phi > 0 ? "raises" : "lowers";
    return element("li", {}, ...breakable(`${name} = ${cellText(state.row[name])} ${verb} the ${unitsOf()} by ${Math.abs(phi).toPrecision(3)}`));
  });
}

function showWaterfall(answer) {
  const order = strongest(answer), listed = whole ? order : order.slice(0, FEW), rest = order.slice(listed.length);
  const phi = (name) => pick(answer.attributions[name]), base = pick(answer.base_value);
  const steps = [...listed.map(phi), ...(rest.length ? [rest.reduce((sum, name) => sum + phi(name), 0)] : [])];
  const path = [base];
  for (const step of steps) path.push(path[path.length - 1] + step);
  const low = Math.min(...path), high = Math.max(...path);
  const bar = (i) => barBetween(path[i], path[i + 1], low, high, base);
  const lines = [totalLine("base value (nothing known)", base, "base")];
  listed.forEach((name, i) => lines.push(featureLine(name, steps[i], bar(i), answer.error_std)));
  if (rest.length) {
    lines.push(element("tr", { class: "rest" }, element("th", { scope: "row" }, `${rest.length} other features`),
      element("td", {}, bar(listed.length)), numberCell(steps[listed.length], signed(steps[listed.length], decimals()))));
  }
  lines.push(totalLine(`prediction (${unitsOf()})`, pick(answer.raw), "total"));
  at("waterfall").tBodies[0].replaceChildren(...lines);
  at("all-lines").hidden = order.length <= FEW;
  at("all-lines").textContent = whole ? "Show the strongest only" : `Show every feature (${order.length})`;
  at("all-lines").setAttribute("aria-expanded", String(whole));
}

function totalLine(words, value, id) {
  return element("tr", { class: "total", id: `line-${id}` }, element("th", { scope: "row" }, words), element("td"), numberCell(value, plain(value, decimals())));
}

function featureLine(name, phi, bar, errors) {
  const error = errors ? pick(errors[name]) : null;
  const written = signed(phi, decimals()) + (error === null ? "" : ` ± ${plain(error, decimals())}`);
  const last = numberCell(phi, written);
  if (error !== null) last.dataset.error = error;
  return element("tr", { class: "feature", "data-name": name },
    element("th", { scope: "row" }, ...breakable(`${name} = ${cellText(state.row[name])}`)), element("td", {}, bar), last);
}

async function refine() {
  const n_orders = state.model.limits.orders, asked = { rows: [knownRow()], n_orders, trial: true }, before = state.answer;
  at("refine").disabled = true;
  const found = await attempt(() => askJson(pathOf(state.model.name, "explain"), { json: asked }));
  at("refine").disabled = false;
  if (!found || state.answer !== before) return; // the row has moved on
  state.answer = found.rows[0];
  state.refined = n_orders;
  show();
}

export function listenToOutcome() {
  on("row", later);
  on("cell", later);
  at("all-lines").addEventListener("click", () => { whole = !whole; showWaterfall(state.answer); });
  at("refine").addEventListener("click", refine);
  at("output").addEventListener("change", () => {
    state.output = Number(at("output").value);
    state.pinned = true;
    show();
    tell("answer");
  });
}

export function offerClasses() {
  at("output").replaceChildren(...(several() ? state.model.classes : []).map((name, k) => element("option", { value: k }, String(name))));
}
