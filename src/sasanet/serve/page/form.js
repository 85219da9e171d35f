// The form made from the columns: a switch, a slider or list, and the exact value of each feature.

import { cellText, chooseRow, isKnown, isNumber, levelsOf, names, on, setCell, state, switchFeature, tell } from "./state.js";

const at = (id) => document.getElementById(id);
const STEPS = 400; // of a slider over numbers that are not whole
let lines = new Map();

export function makeForm() {
  lines = new Map(state.model.columns.map((column, i) => [column.name, new Line(column, `cell-${i}`)]));
  at("cells").replaceChildren(...[...lines.values()].map((line) => line.element));
}

class Line {
  constructor(column, id) {
    this.column = column;
    this.box = element("input", { type: "checkbox", "aria-label": `Use ${column.name}` });
    this.box.addEventListener("change", () => switchFeature(column.name, this.box.checked));
    const label = element("label", { class: "name", for: id }, ...breakable(column.name));
    this.controls = isNumber(column) ? this.#number(id) : this.#category(id);
    this.element = element("div", { class: "cell", "data-name": column.name }, this.box, label, ...this.controls);
  }

  #number(id) {
    const { name, minimum, maximum } = this.column, whole = state.model.steps[name];
    this.exact = element("input", { type: "number", step: "any", id, class: "exact" });
    this.exact.addEventListener("input", () => this.#take(this.exact.value === "" ? null : Number(this.exact.value)));
    if (minimum === undefined || minimum === maximum) return [this.exact];
    const step = whole || (maximum - minimum) / STEPS;
    this.slider = element("input", { type: "range", min: minimum, max: maximum, step, "aria-label": `${name}, slider` });
    this.slider.addEventListener("input", () => this.#take(Number(this.slider.value)));
    return [this.slider, this.exact];
  }

  #category(id) {
    const { name } = this.column, levels = levelsOf(this.column);
    if (!levels.length) {
      this.text = element("input", { type: "text", id, autocomplete: "off", placeholder: "(missing)" });
      this.text.addEventListener("input", () => this.#take(this.text.value === "" ? null : this.#level(this.text.value)));
      return [this.text];
    }
    this.levels = levels;
    this.list = element("select", { id }, element("option", { value: "" }, "(missing)"),
      ...levels.map((level, i) => element("option", { value: i }, String(level))));
    this.list.addEventListener("change", () => this.#take(this.list.value === "" ? null : this.levels[this.list.value]));
    return [this.list];
  }

  // What a column of many numbers or truths would have read from a file.
  #level(text) {
    const example = (this.column.examples || [""])[0];
    if (typeof example === "number" && text.trim() !== "" && !Number.isNaN(Number(text))) return Number(text);
    return typeof example === "boolean" && /^(true|false)$/i.test(text) ? /^true$/i.test(text) : text;
  }

  #take(value) {
    if (Number.isNaN(value) || (typeof value === "number" && !Number.isFinite(value))) return;
    state.off.delete(this.column.name);
    setCell(this.column.name, value);
  }

  show() {
    const name = this.column.name, value = state.row[name] ?? null, focused = document.activeElement;
    this.box.checked = isKnown(name);
    this.box.disabled = value === null;
    this.element.classList.toggle("off", !isKnown(name));
    if (this.exact && this.exact !== focused) this.exact.value = value === null ? "" : Number(value.toPrecision(6));
    if (this.exact) this.exact.placeholder = "missing";
    if (this.slider && this.slider !== focused) {
      this.slider.value = value === null ? (this.column.minimum + this.column.maximum) / 2 : value;
    }
    this.slider?.setAttribute("aria-valuetext", cellText(value));
    if (this.list) this.#showLevel(value);
    if (this.text && this.text !== focused) this.text.value = value === null ? "" : String(value);
  }

  #showLevel(value) {
    if (value !== null && !this.levels.includes(value)) { // a level that training never had
      this.levels = [...this.levels, value];
      this.list.append(element("option", { value: this.levels.length - 1 }, `${value} (unknown)`));
    }
    this.list.value = value === null ? "" : String(this.levels.indexOf(value));
  }
}

function showForm() {
  for (const line of lines.values()) line.show();
  const changed = names().filter((name) => state.row[name] !== state.chosen[name]);
  at("undo").disabled = !changed.length && !state.off.size;
  const what = changed.length ? `, with ${changed.length} changed` : "";
  at("row-name").textContent = state.name + what;
}

export function listenToForm() {
  on("row", showForm);
  on("cell", showForm);
  at("cells").addEventListener("submit", (event) => event.preventDefault());
  at("undo").addEventListener("click", () => chooseRow(state.chosen, state.name));
  at("clear").addEventListener("click", () => chooseRow({}, "Nothing is known yet"));
  at("all-on").addEventListener("click", () => switchAll(true));
  at("all-off").addEventListener("click", () => switchAll(false));
}

function switchAll(known) {
  state.off = new Set(known ? [] : names().filter((name) => state.row[name] !== null));
  tell("cell");
}
