// The page: reads the data, reacts to the reader, and shows what is asked for.

const DATA = JSON.parse(document.getElementById("data").textContent);
const ROWS = new Rows(DATA);
const PER_PAGE = 15, FEW = 12, FIGURES = 9;
const at = (id) => document.getElementById(id);
const state = { row: 0, known: [], output: 0, whole: false, found: [], page: 0, sort: "row", down: false, figures: FIGURES };

function unitsOf(output) {
  if (DATA.quantiles.length) return `${DATA.outputs[output]} of ${DATA.target}`;
  if (DATA.task === "regression") return DATA.link === "log" ? `logarithm of ${DATA.target}` : DATA.target;
  return DATA.task === "binary" ? "log-odds" : `log-odds of ${DATA.outputs[output]}`;
}

// --- the table of rows ---------------------------------------------------------------------------

function sortKey(row) {
  if (state.sort === "row") return row;
  if (state.sort === "error") return ROWS.error(row);
  const raw = ROWS.raw(row);
  return DATA.task === "multiclass" ? probabilities(raw)[ROWS.likeliest(row)] : raw[ROWS.likeliest(row)];
}

function findRows() {
  const words = at("search").value.toLowerCase().split(/\s+/).filter(Boolean), caveat = at("filter").value;
  const keys = [];
  state.found = [];
  for (let row = 0; row < ROWS.count; row++) {
    if (caveat && !ROWS.hasCaveat(row, caveat)) continue;
    if (words.length && !words.every((word) => ROWS.text(row).includes(word))) continue;
    state.found.push(row);
    keys[row] = sortKey(row);
  }
  const sign = state.down ? -1 : 1;
  state.found.sort((a, b) => sign * (keys[a] - keys[b]) || a - b);
  state.page = 0;
  showRows();
}

function showHead() {
  const heads = [["row", "Row"], ["prediction", DATA.task === "binary" ? `P(${DATA.outputs[0]})` : "Prediction"]];
  if (ROWS.actual) heads.push(["error", "Actual"]);
  const line = element("tr");
  for (const [key, title] of heads) {
    const button = element("button", { type: "button", title: key === "error" ? "Sort by error" : `Sort by ${key}` }, title);
    const head = element("th", { scope: "col" }, button);
    if (state.sort === key) {
      head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      button.append(state.down ? " ▾" : " ▴");
    }
    button.addEventListener("click", () => {
      state.down = state.sort === key ? !state.down : key !== "row";
      state.sort = key;
      findRows();
      showHead();
      at("rows").tHead.querySelectorAll("button")[heads.findIndex((h) => h[0] === key)].focus();
    });
    line.append(head);
  }
  line.append(element("th", { scope: "col" }, "Strongest reasons"));
  at("rows").tHead.replaceChildren(line);
}

function rowLine(row) {
  const line = element("tr", { "data-row": row }), output = ROWS.likeliest(row);
  if (row === state.row) line.setAttribute("aria-current", "true");
  const button = element("button", { type: "button", "aria-label": `Show row ${ROWS.labels[row]}`, title: ROWS.labels[row] }, cut(ROWS.labels[row], 14));
  line.append(element("th", { scope: "row" }, button));
  line.append(element("td", { class: DATA.task === "binary" ? "short" : "" }, ROWS.words(ROWS.raw(row), output)));
  if (ROWS.actual) line.append(element("td", {}, ROWS.actualWords(row)));
  const reasons = ROWS.strongest(row, output).slice(0, 3).filter((j) => ROWS.attribution(row, j, output) !== 0)
    .map((j) => `${ROWS.columns[j].name} = ${cut(ROWS.cell(row, j), 28)} ${ROWS.attribution(row, j, output) > 0 ? "↑" : "↓"}`);
  line.append(element("td", { class: "why" }, ...breakable(reasons.join(", "))));
  line.addEventListener("click", () => goToRow(row, false));
  return line;
}

function showRows() {
  const start = state.page * PER_PAGE, part = state.found.slice(start, start + PER_PAGE);
  at("rows").tBodies[0].replaceChildren(...part.map(rowLine));
  const count = state.found.length.toLocaleString("en");
  at("pager").textContent = part.length ? `${start + 1} to ${start + part.length} of ${count}` : "No row contains all of these words";
  at("previous").disabled = state.page === 0;
  at("next").disabled = start + PER_PAGE >= state.found.length;
}

// --- one row -------------------------------------------------------------------------------------

function openRow(row) {
  state.row = row;
  state.known = ROWS.columns.map(() => true);
  if (DATA.task === "multiclass" || DATA.quantiles.length) state.output = ROWS.likeliest(row);
  for (const line of at("rows").tBodies[0].rows) {
    if (Number(line.dataset.row) === row) line.setAttribute("aria-current", "true");
    else line.removeAttribute("aria-current");
  }
  showRow();
}

// On a narrow page the row is below the table: go there.
function goToRow(row, always) {
  openRow(row);
  if (!always && at("row").offsetTop <= at("rows").offsetTop + 10) return;
  at("row-title").focus({ preventScroll: true });
  at("row").scrollIntoView({ block: "start" });
}

function showRow() {
  const row = state.row, output = state.output, raw = ROWS.raw(row);
  for (const select of document.querySelectorAll("select.output")) select.value = output;
  at("row-title").textContent = `Row ${ROWS.labels[row]}`;
  const text = [`Predicted: ${ROWS.words(raw, output)}`];
  if (DATA.task === "binary") text[0] += ` that ${DATA.target} is ${DATA.outputs[0]}`;
  if (ROWS.actual) text.push(`actual: ${ROWS.actualWords(row)}`);
  at("row-prediction").textContent = text.join("; ") + ".";
  const reasons = ROWS.strongest(row, output).slice(0, 5).filter((j) => ROWS.attribution(row, j, output) !== 0);
  at("reasons").replaceChildren(...reasons.map((j) => {
    const phi = ROWS.attribution(row, j, output);
    const verb = phi > 0 ? "raises" : "lowers", by = plain(Math.abs(phi), DATA.decimals);
    return element("li", {}, ...breakable(`${ROWS.columns[j].name} = ${ROWS.cell(row, j)} ${verb} the ${unitsOf(output)} by ${by}`));
  }));
  showWaterfall();
  showWhatIf();
}

function showWaterfall() {
  const row = state.row, output = state.output, order = ROWS.strongest(row, output);
  const listed = state.whole ? order : order.slice(0, FEW), rest = order.slice(listed.length);
  const phi = (j) => ROWS.attribution(row, j, output), base = DATA.base[output], total = ROWS.raw(row)[output];
  const steps = listed.map(phi).concat(rest.length ? [rest.reduce((sum, j) => sum + phi(j), 0)] : []);
  const path = [base];
  for (const step of steps) path.push(path[path.length - 1] + step);
  const low = Math.min(...path), high = Math.max(...path);
  const lines = [totalLine("base value (nothing known)", base, "base")];
  listed.forEach((j, i) => lines.push(featureLine(j, steps[i], barBetween(path[i], path[i + 1], low, high, base))));
  if (rest.length) {
    const i = listed.length, words = `${rest.length} other features`;
    lines.push(element("tr", { class: "rest" }, element("td"), element("th", { scope: "row" }, words),
      element("td", {}, barBetween(path[i], path[i + 1], low, high, base)), numberCell(steps[i], signed)));
  }
  lines.push(totalLine(`prediction (${unitsOf(output)})`, total, "prediction"));
  at("waterfall").tBodies[0].replaceChildren(...lines);
  at("whole-row").hidden = order.length <= FEW;
  at("whole-row").textContent = state.whole ? "Show the strongest only" : `Show every feature (${order.length})`;
  at("whole-row").setAttribute("aria-expanded", String(state.whole));
}

function numberCell(value, words) {
  return element("td", { class: "num", "data-value": value }, words(value, DATA.decimals));
}

function totalLine(words, value, id) {
  return element("tr", { class: "total", id: `line-${id}` }, element("td"), element("th", { scope: "row" }, words), element("td"), numberCell(value, plain));
}

function featureLine(column, phi, bar) {
  const name = ROWS.columns[column].name, missing = ROWS.isMissing(state.row, column);
  const box = element("input", { type: "checkbox", "data-column": column, "aria-label": `Use ${name}` });
  box.checked = state.known[column] && !missing;
  box.disabled = missing;
  box.addEventListener("change", () => switchFeature(column, box.checked));
  const line = element("tr", { class: "feature" }, element("td", {}, box),
    element("th", { scope: "row" }, ...breakable(`${name} = ${ROWS.cell(state.row, column)}`)), element("td", {}, bar), numberCell(phi, signed));
  line.classList.toggle("off", !state.known[column]);
  return line;
}

function switchFeature(column, on) {
  if (!ROWS.network) state.known.fill(true); // without the network, one feature at a time
  state.known[column] = on;
  for (const box of at("waterfall").querySelectorAll("input")) {
    const known = state.known[box.dataset.column];
    box.checked = known && !box.disabled;
    box.closest("tr").classList.toggle("off", !known);
  }
  showWhatIf();
}

function switchAll(on) {
  state.known.fill(on);
  showWaterfall();
  showWhatIf();
}

function showWhatIf() {
  const row = state.row, output = state.output, all = ROWS.raw(row), value = ROWS.value(row, state.known);
  const off = ROWS.strongest(row, output).filter((j) => !state.known[j] && !ROWS.isMissing(row, j));
  const rate = (raw) => (DATA.link === "log" ? ` (${ROWS.words(raw, output)})` : "");
  const one = (raw) => (DATA.task === "regression" ? rate(raw) : ` (${percent(probabilities(raw)[DATA.task === "binary" ? 1 : output])})`);
  const strong = (raw, id) => element("span", { class: "strong", id, "data-value": raw[output] }, plain(raw[output], DATA.decimals) + one(raw));
  const lines = [element("p", {}, "From every known feature: ", strong(all, "from-all"))];
  if (off.length) {
    const names = off.length <= 4 ? off.map((j) => ROWS.columns[j].name).join(", ") : `${off.length} features`;
    lines.push(element("p", {}, `Without ${names}: `, strong(value, "from-rest"), `, a change of ${signed(value[output] - all[output], DATA.decimals)}`));
  } else {
    lines.push(element("p", {}, "Switch features off below to see the prediction from the rest."));
  }
  at("what-if").replaceChildren(...lines);
}

// --- how features matter ---------------------------------------------------------------------------

function showDependence() {
  const few = DATA.dependence.slice(0, state.figures);
  at("dependence").replaceChildren(...few.map((feature) => dependenceFigure(feature, state.output, unitsOf(state.output))));
  at("more-dependence").hidden = DATA.dependence.length <= state.figures;
}

function showCalibration() {
  const figure = at("calibration");
  if (!figure || !DATA.calibration) return;
  const { error, noise, noise_high, n_rows } = DATA.calibration;
  figure.hidden = false;
  figure.querySelector("figcaption").replaceChildren("Calibration",
    element("small", {}, `Predicted against observed, with 95 % intervals (${n_rows.toLocaleString("en")} rows). Mean difference ${error.toPrecision(2)}; chance alone would give ${noise.toPrecision(2)} on average, and less than ${noise_high.toPrecision(2)} 19 times out of 20.`));
  figure.append(calibrationFigure(DATA.calibration, DATA.task, DATA.quantiles.length > 0));
}

// --- reacting --------------------------------------------------------------------------------------

function listen() {
  at("controls").addEventListener("submit", (event) => event.preventDefault());
  at("search").addEventListener("input", findRows);
  at("filter").addEventListener("change", findRows);
  at("previous").addEventListener("click", () => { state.page--; showRows(); });
  at("next").addEventListener("click", () => { state.page++; showRows(); });
  at("all-on").addEventListener("click", () => switchAll(true));
  at("all-off").addEventListener("click", () => switchAll(false));
  at("all-off").hidden = !ROWS.network;
  at("whole-row").addEventListener("click", () => { state.whole = !state.whole; showWaterfall(); });
  at("more-dependence").addEventListener("click", () => { state.figures = DATA.dependence.length; showDependence(); });
  at("all-features")?.addEventListener("click", (event) => {
    for (const line of document.querySelectorAll("#importance .extra")) line.hidden = false;
    event.target.remove();
  });
  for (const button of document.querySelectorAll("button.open")) {
    button.addEventListener("click", () => goToRow(Number(button.dataset.row), true));
  }
  for (const select of document.querySelectorAll("select.output")) {
    select.append(...DATA.outputs.map((name, k) => element("option", { value: k }, name)));
    select.closest(".choice").hidden = DATA.outputs.length < 2;
    select.addEventListener("change", () => {
      state.output = Number(select.value);
      showRow();
      showDependence();
    });
  }
}

listen();
showHead();
findRows();
openRow(0);
showDependence();
showCalibration();
