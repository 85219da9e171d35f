// What people who decide ask for: changes that would carry a row across a threshold, and groups.

import { askJson, attempt, pathOf, say } from "./server.js";
import { cellText, decimals, isNumber, knownRow, numberCell, on, pick, several, setCell, state } from "./state.js";

const at = (id) => document.getElementById(id);

export function offerDecisions() {
  const { task, classes, columns } = state.model;
  at("changeable").replaceChildren(element("legend", {}, "May change"),
    ...columns.map(({ name }) => {
      const box = element("input", { type: "checkbox", value: name, "aria-label": `${name} may change` });
      return element("label", { class: "tick" }, box, ...breakable(name));
    }));
  at("threshold").value = task === "regression" ? shown(state.model.base_value[0]) : 0.5;
  at("score-name").textContent = task === "binary" ? `probability of ${classes[1]}` : "prediction";
  at("groups-section").hidden = !state.model.can_group;
  at("groups-text").value = Object.entries(state.model.groups).map(([name, own]) => `${name}: ${own.join(", ")}`).join("\n");
  at("groups-text").placeholder = columns.length > 2 ? `first: ${columns[0].name}, ${columns[1].name}` : "";
}

// --- recourse ------------------------------------------------------------------------------------

async function search(event) {
  event.preventDefault();
  const chosen = [...at("changeable").querySelectorAll("input:checked")].map((box) => box.value);
  if (!chosen.length) return say("At least one feature must be allowed to change.");
  const asked = { row: knownRow(), threshold: Number(at("threshold").value), refuse: at("refuse").value,
    change: Object.fromEntries(chosen.map((name) => [name, allowed(name)])) };
  if (several()) asked.output = String(state.model.classes[state.output]);
  const found = await attempt(() => askJson(pathOf(state.model.name, "recourse"), { json: asked }));
  if (found) showChanges(found);
}

// Whole numbers stay whole; everything else takes any value that the model knows.
function allowed(name) {
  const column = state.model.columns.find((one) => one.name === name);
  if (!isNumber(column) || !state.model.steps[name] || column.minimum === undefined) return null;
  const reach = column.maximum - column.minimum, count = Math.min(64, reach + 1);
  const values = Array.from({ length: count }, (_, i) => Math.round(column.minimum + (reach * i) / Math.max(count - 1, 1)));
  return values.length > 2 ? [...new Set(values)] : null;
}

const words = (score) => (state.model.task === "regression" ? plain(score, decimals()) : percent(score));

function showChanges(found) {
  const place = at("recourse");
  if (!found.refused) return place.replaceChildren(element("p", {}, "This row is on that side already."));
  if (!found.changes.length) return place.replaceChildren(element("p", {}, `No change of these features was found that carries it there from ${words(found.score)}.`));
  const lines = found.changes.map((one) => element("li", { "data-name": one.feature }, element("strong", {}, one.feature), `: ${cellText(one.from)} → ${cellText(one.to)}`));
  const button = element("button", { type: "button" }, "Try it");
  button.addEventListener("click", () => found.changes.forEach((one) => setCell(one.feature, one.to)));
  place.replaceChildren(element("p", {}, `From ${words(found.score)} to `, element("span", { class: "strong", id: "new-score", "data-value": found.new_score }, words(found.new_score)), ":"),
    element("ul", {}, ...lines), button,
    element("p", { class: "note" }, "The model knows nothing of causes: such a row has another score, which does not say that changing it would help."));
}

// --- groups --------------------------------------------------------------------------------------

function readGroups() {
  const found = {};
  for (const line of at("groups-text").value.split("\n").filter((one) => one.trim())) {
    const [name, members] = line.split(/:(.*)/s);
    if (members === undefined) return null;
    found[name.trim()] = members.split(",").map((one) => one.trim()).filter(Boolean);
  }
  return found;
}

async function group(event) {
  event.preventDefault();
  const groups = readGroups();
  if (!groups) return say("A group must be a line such as «loan: months, amount».");
  const found = await attempt(() => askJson(pathOf(state.model.name, "groups"), { json: { row: knownRow(), groups } }));
  if (!found) return;
  const order = Object.entries(found.attributions).sort((a, b) => Math.abs(pick(b[1])) - Math.abs(pick(a[1])));
  const base = pick(found.base_value), path = [base];
  for (const [, phi] of order) path.push(path[path.length - 1] + pick(phi));
  const low = Math.min(...path), high = Math.max(...path);
  const lines = order.filter(([, phi]) => pick(phi) !== 0).map(([name, phi]) => {
    const i = order.findIndex(([one]) => one === name), members = found.groups[name];
    const head = element("th", { scope: "row" }, ...breakable(name));
    if (members) head.append(element("small", {}, ...breakable(members.join(", "))));
    return element("tr", { class: members ? "group" : "feature", "data-name": name }, head,
      element("td", {}, barBetween(path[i], path[i + 1], low, high, base)), numberCell(pick(phi), signed(pick(phi), decimals())));
  });
  const titles = element("tr", {}, element("th", { scope: "col" }, "Group or feature"), element("th", { scope: "col" }, element("span", { class: "hidden" }, "Bar")),
    element("th", { scope: "col", class: "num" }, "Adds"));
  at("groups").replaceChildren(element("table", { class: "bars" }, element("thead", {}, titles), element("tbody", {}, ...lines)));
}

function forget() {
  at("recourse").replaceChildren();
  at("groups").replaceChildren();
}

export function listenToDecisions() {
  on("row", forget);
  on("cell", forget);
  on("answer", () => { if (several()) at("score-name").textContent = `probability of ${state.model.classes[state.output]}`; });
  at("recourse-form").addEventListener("submit", search);
  at("groups-form").addEventListener("submit", group);
}

