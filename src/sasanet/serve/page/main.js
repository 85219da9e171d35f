// The page: asks which models there are, and hands each part of the page to its own file.

import { listenToComparison } from "./compare.js";
import { listenToDecisions, offerDecisions } from "./decide.js";
import { listenToFiles } from "./files.js";
import { listenToForm, makeForm } from "./form.js";
import { listenToGains } from "./gains.js";
import { listenToOutcome, offerClasses } from "./outcome.js";
import { firstRow, listenToRows } from "./rows.js";
import { askJson, attempt, pathOf, useKey } from "./server.js";
import { state, tell } from "./state.js";

const at = (id) => document.getElementById(id);

async function begin() {
  const found = await attempt(() => askJson("/models"));
  if (!found) return;
  at("key-form").hidden = true;
  at("model").replaceChildren(...found.models.map(({ name }) => element("option", {}, name)));
  at("choose-model").hidden = found.models.length < 2;
  await openModel(found.models[0].name);
}

async function openModel(name) {
  const model = await attempt(() => askJson(pathOf(name, "live")));
  if (!model) return;
  state.model = model;
  const what = { binary: `the probability that it is ${model.classes[1]}`, multiclass: `one of ${model.classes.length} classes`, regression: "a number" }[model.task];
  document.title = `${name} – sasanet`;
  at("title").textContent = name;
  at("about").textContent = `Predicts ${what} from up to ${model.columns.length} features. Version ${model.version}.`;
  state.output = 0;
  offerClasses();
  makeForm();
  offerDecisions();
  at("main").hidden = false;
  tell("model");
  await firstRow();
}

at("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  useKey(at("key").value);
  at("key").value = "";
  begin();
});
at("model").addEventListener("change", () => openModel(at("model").value));
listenToForm();
listenToOutcome();
listenToRows();
listenToGains();
listenToComparison();
listenToDecisions();
listenToFiles();
begin();
