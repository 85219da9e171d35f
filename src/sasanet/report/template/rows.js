// The rows of the table: their cells, their predictions, their strongest reasons.

class Rows {
  constructor(data) {
    this.data = data;
    this.labels = data.rows.labels;
    this.count = this.labels.length;
    this.columns = data.rows.columns.map((column) => column.codes
      ? { ...column, codes: unpack(column.codes) }
      : { ...column, values: unpack(column.values), knots: unpack(column.knots) });
    this.outputs = data.outputs.length;
    this.attributions = unpack(data.rows.attributions);
    this.predictions = unpack(data.rows.predictions);
    this.actual = data.actual && unpack(data.actual);
    this.caveats = unpack(data.caveats.codes);
    this.without = data.without && unpack(data.without);
    this.network = data.network && new ValueNetwork(data.network);
    this.texts = [];
  }

  isMissing(row, column) {
    const { codes, values } = this.columns[column];
    return codes ? codes[row] === 65535 : Number.isNaN(values[row]);
  }

  cell(row, column) {
    if (this.isMissing(row, column)) return "missing";
    const { codes, words, values } = this.columns[column];
    return codes ? words[codes[row]] : shown(values[row]);
  }

  place(row, column) {
    if (this.isMissing(row, column)) return NaN;
    const { codes, places, values, knots } = this.columns[column];
    return codes ? places[codes[row]] : placeOf(values[row], knots);
  }

  attribution(row, column, output) {
    return this.attributions[(row * this.columns.length + column) * this.outputs + output];
  }

  raw(row) {
    return Array.from(this.predictions.subarray(row * this.outputs, (row + 1) * this.outputs));
  }

  // What the model predicts for a row from some of its features: one number per output.
  value(row, known) {
    const off = this.columns.map((_, j) => j).filter((j) => !known[j] && !this.isMissing(row, j));
    if (!off.length) return this.raw(row);
    if (this.network) {
      const places = this.columns.map((_, j) => this.place(row, j));
      return Array.from(this.network.value(places, known), (gain, k) => this.data.base[k] + this.data.scale * gain);
    }
    const first = (row * this.columns.length + off[0]) * this.outputs;
    return Array.from(this.without.subarray(first, first + this.outputs));
  }

  strongest(row, output) {
    const size = (j) => Math.abs(this.attribution(row, j, output));
    return this.columns.map((_, j) => j).sort((a, b) => size(b) - size(a) || a - b);
  }

  // The output that is shown when none is chosen: the most probable class, or the middle quantile.
  likeliest(row) {
    if (this.data.task === "regression") return Math.floor(this.data.outputs.length / 2);
    const raw = this.raw(row);
    return raw.indexOf(Math.max(...raw));
  }

  // The prediction in words: a probability, a class with its probability, a number, a rate, or quantiles.
  words(raw, output) {
    if (this.data.link === "log") return plain(Math.exp(raw[0]), this.data.rate_decimals);
    if (this.data.quantiles.length) return Array.from(raw).map((one) => plain(one, this.data.decimals)).join(" · ");
    if (this.data.task === "regression") return plain(raw[0], this.data.decimals);
    const shares = probabilities(raw);
    if (this.data.task === "binary") return percent(shares[1]);
    return `${this.data.classes[output]} ${percent(shares[output])}`;
  }

  actualWords(row) {
    if (!this.actual) return "";
    return this.data.classes.length ? this.data.classes[this.actual[row]] : shown(this.actual[row]);
  }

  error(row) {
    if (this.data.link === "log") return Math.abs(this.actual[row] - Math.exp(this.raw(row)[0]));
    if (this.data.task === "regression") return Math.abs(this.actual[row] - this.raw(row)[this.likeliest(row)]);
    return 1 - probabilities(this.raw(row))[this.actual[row]];
  }

  hasCaveat(row, key) {
    return Boolean((this.caveats[row] >> this.data.caveats.keys.indexOf(key)) & 1);
  }

  text(row) {
    if (!this.texts[row]) {
      const cells = this.columns.map((column, j) => `${column.name} = ${this.cell(row, j)}`);
      this.texts[row] = [this.labels[row], this.actualWords(row), ...cells].join("\n").toLowerCase();
    }
    return this.texts[row];
  }
}
