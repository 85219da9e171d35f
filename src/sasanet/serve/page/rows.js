// Where a row comes from: chosen among the table's, pasted, or one like the row at hand.

import { askJson, attempt, Latest, pathOf, say } from "./server.js";
import { cellText, chooseRow, decimals, inWords, isNumber, knownRow, names, numberCell, on, state } from "./state.js";

const at = (id) => document.getElementById(id);
const PER_PAGE = 6, SHOWN_CELLS = 4, LIKE = 5;
const latest = new Latest();
let start = 0;

export async function firstRow() {
  at("chooser").hidden = at("like-section").hidden = !state.model.rows;
  at("paste").open = false;
  start = 0;
  at("search").value = "";
  const found = state.model.rows ? await list() : null;
  if (found?.rows.length) take(found.rows[0]);
  else chooseRow({}, "Nothing is known yet");
}

function take(line) {
  chooseRow(line.cells, `Row ${line.label}`);
  showCurrent();
}

async function list() {
  const words = new URLSearchParams({ words: at("search").value, start, count: PER_PAGE });
  const found = await attempt(() => latest.ask(pathOf(state.model.name, `rows?${words}`)));
  if (!found) return null;
  at("rows").tBodies[0].replaceChildren(...found.rows.map(rowLine));
  const last = start + found.rows.length;
  at("pager").textContent = found.found ? `${start + 1} to ${last} of ${found.found.toLocaleString("en")}` : "No row contains all of these words";
  at("previous").disabled = start === 0;
  at("next").disabled = last >= found.found;
  showCurrent();
  return found;
}

function rowLine(line) {
  const button = element("button", { type: "button", "aria-label": `Use row ${line.label}` }, cut(line.label, 14));
  button.addEventListener("click", () => take(line));
  const cells = names().slice(0, SHOWN_CELLS).map((name) => cellText(line.cells[name])).join(", ");
  return element("tr", { "data-label": line.label }, element("th", { scope: "row" }, button),
    element("td", { class: "short" }, inWords(line.raw)), element("td", { class: "why" }, cells));
}

function showCurrent() {
  for (const line of at("rows").tBodies[0].rows) {
    if (`Row ${line.dataset.label}` === state.name) line.setAttribute("aria-current", "true");
    else line.removeAttribute("aria-current");
  }
}

// --- pasting -------------------------------------------------------------------------------------

// JSON, or two lines of a spreadsheet: names and cells, between tabs, semicolons or commas.
function readPasted(text) {
  text = text.trim();
  if (/^[[{]/.test(text)) {
    const found = JSON.parse(text), row = Array.isArray(found) ? found[0] : found;
    if (typeof row !== "object" || row === null) throw new SyntaxError("no object");
    return row;
  }
  const [head, cells] = text.split(/\r?\n/), mark = ["\t", ";", ","].find((one) => head.includes(one)) || ",";
  if (cells === undefined) throw new SyntaxError("one line");
  const values = cells.split(mark), columns = new Map(state.model.columns.map((column) => [column.name, column]));
  return Object.fromEntries(head.split(mark).map((name, i) => [name.trim(), readCell(columns.get(name.trim()), (values[i] ?? "").trim())]));
}

function readCell(column, text) {
  if (column === undefined || text === "" || text === "NA") return null;
  if (isNumber(column)) return Number.isNaN(Number(text)) ? null : Number(text);
  const known = (column.enum || column.examples || []).find((level) => level !== null && String(level).toLowerCase() === text.toLowerCase());
  return known === undefined ? text : known;
}

function paste(event) {
  event.preventDefault();
  let row;
  try {
    row = readPasted(at("pasted").value);
  } catch {
    say("A pasted row must be a JSON object, or a line of names and a line of cells.");
    return;
  }
  if (!names().some((name) => row[name] !== undefined && row[name] !== null)) {
    say("A pasted row must name columns of this model.");
    return;
  }
  say("");
  chooseRow(row, "The pasted row");
  at("paste").open = false;
}

// --- rows like this ------------------------------------------------------------------------------

async function findLike() {
  const asked = { row: knownRow(), count: LIKE };
  const found = await attempt(() => askJson(pathOf(state.model.name, "like"), { json: asked }));
  if (!found) return;
  const lines = found.rows.map((line) => {
    const button = element("button", { type: "button", "aria-label": `Use row ${line.label}` }, cut(line.label, 14));
    button.addEventListener("click", () => take(line));
    const other = names().filter((name) => line.cells[name] !== state.row[name]);
    const words = other.slice(0, 5).map((name) => `${name} = ${cellText(line.cells[name])}`).join(", ");
    const more = other.length > 5 ? ` and ${other.length - 5} more` : "";
    return element("tr", { "data-label": line.label }, element("th", { scope: "row" }, button), element("td", { class: "short" }, inWords(line.raw)),
      element("td", { class: "why" }, ...breakable(other.length ? words + more : "the same cells")), numberCell(line.distance, plain(line.distance, decimals())));
  });
  const head = element("tr", {}, ...["Row", "Prediction", "Other cells"].map((word) => element("th", { scope: "col" }, word)),
    element("th", { scope: "col", class: "num" }, "Distance"));
  at("like").replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...lines)),
    element("p", { class: "note" }, "Distance: the sum of the differences of all attributions."));
}

export function listenToRows() {
  on("row", () => { showCurrent(); at("like").replaceChildren(); });
  at("search-form").addEventListener("submit", (event) => event.preventDefault());
  at("search").addEventListener("input", () => { start = 0; list(); });
  at("previous").addEventListener("click", () => { start = Math.max(0, start - PER_PAGE); list(); });
  at("next").addEventListener("click", () => { start += PER_PAGE; list(); });
  at("paste-form").addEventListener("submit", paste);
  at("ask-like").addEventListener("click", findLike);
}
