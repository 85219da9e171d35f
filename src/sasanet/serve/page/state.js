// What the page is about: one model, one row, which of its features are known, and who wants to hear.

export const state = {
  model: null, // as /models/{m}/live describes it
  row: {}, // name → cell or null
  off: new Set(), // names of features that are switched off
  chosen: null, // the row as it was chosen, to go back to
  name: "",
  output: 0, // which class is explained, of several
  pinned: false, // whether the reader chose it
  answer: null, // the last explanation
};

const listeners = new Map();

export function on(event, heard) {
  listeners.set(event, [...(listeners.get(event) || []), heard]);
}

export function tell(event) {
  for (const heard of listeners.get(event) || []) heard();
}

export const names = () => state.model.columns.map((column) => column.name);
export const isNumber = (column) => column.type?.[0] === "number";
export const levelsOf = (column) => (column.enum || []).filter((level) => level !== null);
export const isKnown = (name) => state.row[name] !== null && state.row[name] !== undefined && !state.off.has(name);

// The row as the model is asked about it: what is switched off is absent.
export function knownRow() {
  return Object.fromEntries(names().filter(isKnown).map((name) => [name, state.row[name]]));
}

export function chooseRow(cells, name) {
  state.row = Object.fromEntries(names().map((one) => [one, cells[one] ?? null]));
  state.chosen = { ...state.row };
  state.name = name;
  state.off.clear();
  state.pinned = false;
  tell("row");
}

export function setCell(name, value) {
  state.row[name] = value;
  if (value === null) state.off.delete(name);
  tell("cell");
}

export function switchFeature(name, known) {
  if (known) state.off.delete(name);
  else state.off.add(name);
  tell("cell");
}

// --- words for numbers ---------------------------------------------------------------------------

export const several = () => state.model.task === "multiclass";
export const pick = (value) => (Array.isArray(value) ? value[state.output] : value);

export function decimals() {
  const size = Math.abs(pick(state.answer?.raw) ?? 1);
  return state.model.task === "regression" ? Math.max(0, 4 - Math.ceil(Math.log10(Math.max(size, 1e-6)))) : 3;
}

export function unitsOf() {
  return several() ? `log-odds of ${state.model.classes[state.output]}` : state.model.units;
}

// A raw output as people say it: a probability, a class with its probability, or a number.
export function inWords(raw) {
  if (state.model.task === "regression") return plain(raw, decimals());
  const shares = probabilities(Array.isArray(raw) ? raw : [raw]);
  if (!several()) return percent(shares[1]);
  const best = shares.indexOf(Math.max(...shares));
  return `${state.model.classes[best]} ${percent(shares[best])}`;
}

export function cellText(value) {
  if (value === null || value === undefined) return "(missing)";
  return typeof value === "number" ? shown(value) : String(value);
}

export function numberCell(value, written) {
  return element("td", { class: "num", "data-value": value }, written);
}

export function replaceText(id, text) {
  const place = document.getElementById(id);
  if (place.textContent !== text) place.textContent = text; // a live region speaks only when it changes
}
