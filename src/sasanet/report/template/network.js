// The value network: v(S) − φ0 = mean_m cap·tanh((ρ(b_m + Σ r_mi ψ_i) − ρ(b_m)) / cap).

class ValueNetwork {
  constructor(packed) {
    this.tables = packed.tables.map((table) => ({ numbers: unpack(table), step: table.step, places: table.shape[0] }));
    [this.members, this.width] = packed.bias.shape;
    this.bias = unpack(packed.bias);
    this.factors = unpack(packed.factors);
    this.layers = packed.layers.map(([weight, bias]) => ({ weight: unpack(weight), bias: unpack(bias) }));
    this.slope = packed.slope;
    this.cap = packed.cap;
    this.empty = []; // ρ(b_m), the output of each member when nothing is known
    for (let m = 0; m < this.members; m++) this.empty.push(this.rho(this.sum(m, [], [])));
  }

  // b_m + Σ_{i∈S} r_mi ψ_i(x_i); a position between two rows of the table interpolates.
  sum(member, places, known) {
    const width = this.width, found = new Float64Array(width);
    for (let u = 0; u < width; u++) found[u] = this.bias[member * width + u];
    for (let i = 0; i < places.length; i++) {
      if (!known[i] || Number.isNaN(places[i])) continue;
      const { numbers, step, places: rows } = this.tables[i];
      const low = Math.floor(places[i]), high = Math.min(low + 1, rows - 1), share = places[i] - low;
      const weight = step * this.factors[member * places.length + i];
      for (let u = 0; u < width; u++) {
        found[u] += weight * ((1 - share) * numbers[low * width + u] + share * numbers[high * width + u]);
      }
    }
    return found;
  }

  rho(sums) {
    for (const { weight, bias } of this.layers) {
      const active = sums.map((s) => (s > 0 ? s : this.slope * s)), inputs = active.length;
      const next = Float64Array.from(bias);
      for (let o = 0; o < next.length; o++) {
        let total = 0;
        for (let i = 0; i < inputs; i++) total += weight[o * inputs + i] * active[i];
        next[o] += total;
      }
      sums = next;
    }
    return sums;
  }

  // Relative to the base value, in the network's units: one number per output; exactly 0 if nothing is known.
  value(places, known) {
    const outputs = this.empty[0].length, found = new Float64Array(outputs);
    if (!places.some((place, i) => known[i] && !Number.isNaN(place))) return found;
    for (let m = 0; m < this.members; m++) {
      const raw = this.rho(this.sum(m, places, known));
      for (let k = 0; k < outputs; k++) {
        const gain = raw[k] - this.empty[m][k];
        found[k] += (this.cap === null ? gain : this.cap * Math.tanh(gain / this.cap)) / this.members;
      }
    }
    return found;
  }
}
