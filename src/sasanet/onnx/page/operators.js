"use strict";

// The operators that a file of sasanet uses, and the graph that puts them together.

function gathered([one, index], { axis = 0 }) {
  const inner = sizeOf(one.shape.slice(axis + 1)), outer = sizeOf(one.shape.slice(0, axis));
  const shape = [...one.shape.slice(0, axis), ...index.shape, ...one.shape.slice(axis + 1)];
  const n = index.data.length, length = one.shape[axis];
  const found = tensor(shape, one.data instanceof Float64Array ? undefined : []);
  for (let o = 0; o < outer; o++) {
    for (let j = 0; j < n; j++) {
      const from = (o * length + index.data[j]) * inner, to = (o * n + j) * inner;
      for (let i = 0; i < inner; i++) found.data[to + i] = one.data[from + i];
    }
  }
  return found;
}

function gatheredOfRow([one, index]) { // [B, N, …] and [B, n, 1] → [B, n, …]
  const [rows, length] = one.shape, n = index.shape[1], inner = sizeOf(one.shape.slice(2));
  const found = tensor([rows, n, ...one.shape.slice(2)]);
  for (let b = 0; b < rows; b++) {
    for (let j = 0; j < n; j++) {
      const from = (b * length + index.data[b * n + j]) * inner;
      found.data.set(one.data.subarray(from, from + inner), (b * n + j) * inner);
    }
  }
  return found;
}

function joined(parts, { axis }) {
  const first = parts[0].shape, inner = sizeOf(first.slice(axis + 1)), outer = sizeOf(first.slice(0, axis));
  const total = parts.reduce((sum, part) => sum + part.shape[axis], 0);
  const found = tensor([...first.slice(0, axis), total, ...first.slice(axis + 1)]);
  let start = 0;
  for (const part of parts) {
    const length = part.shape[axis] * inner;
    for (let o = 0; o < outer; o++) {
      found.data.set(part.data.subarray(o * length, (o + 1) * length), o * total * inner + start);
    }
    start += length;
  }
  return found;
}

function largest([one, count]) { // of equal ones the first
  const [rows, length] = one.shape, n = count.data[0];
  const values = tensor([rows, n]), places = tensor([rows, n]);
  for (let b = 0; b < rows; b++) {
    const row = one.data.subarray(b * length, (b + 1) * length);
    const order = Array.from(row.keys()).sort((i, j) => row[j] - row[i] || i - j);
    for (let j = 0; j < n; j++) {
      places.data[b * n + j] = order[j];
      values.data[b * n + j] = row[order[j]];
    }
  }
  return [values, places];
}

function scattered([one, index, updates], { reduction }) { // along the second axis of three
  const found = tensor(one.shape, one.data.slice());
  const [, length, inner] = one.shape, [rows, n] = index.shape;
  for (let b = 0; b < rows; b++) {
    for (let j = 0; j < n; j++) {
      for (let i = 0; i < inner; i++) {
        const from = (b * n + j) * inner + i, to = (b * length + index.data[from]) * inner + i;
        found.data[to] = updates.data[from] + (reduction === "add" ? found.data[to] : 0);
      }
    }
  }
  return found;
}

function rowsReplaced([one, index, updates]) {
  const found = tensor(one.shape, one.data.slice()), inner = sizeOf(one.shape.slice(1));
  index.data.forEach((row, j) => {
    found.data.set(updates.data.subarray(j * inner, (j + 1) * inner), row * inner);
  });
  return found;
}

function turned([one], { perm }) {
  const own = stridesOf(one.shape), shape = perm.map((axis) => one.shape[axis]), found = tensor(shape);
  const steps = stridesOf(shape);
  for (let i = 0; i < found.data.length; i++) {
    let from = 0;
    for (let axis = 0; axis < perm.length; axis++) {
      from += (Math.floor(i / steps[axis]) % shape[axis]) * own[perm[axis]];
    }
    found.data[i] = one.data[from];
  }
  return found;
}

function part([one, start, stop, axis]) {
  const at = axis.data[0], length = one.shape[at], first = start.data[0];
  const last = Math.min(stop.data[0], length);
  const places = Float64Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i);
  return gathered([one, tensor([places.length], places)], { axis: at });
}

function reshaped([one, wanted]) {
  const shape = Array.from(wanted.data, (length, axis) => (length === 0 ? one.shape[axis] : length));
  const known = shape.reduce((a, b) => (b < 0 ? a : a * b), 1);
  return tensor(shape.map((length) => (length < 0 ? one.data.length / known : length)), one.data);
}

function withAxes([one, axes]) {
  const shape = one.shape.slice(), rank = shape.length + axes.data.length;
  for (const axis of Array.from(axes.data, (a) => axisOf(a, rank)).sort((a, b) => a - b)) {
    shape.splice(axis, 0, 1);
  }
  return tensor(shape, one.data);
}

function softmax([one]) {
  const top = folded(one, 1, true, -Infinity, Math.max);
  const found = both((x, most) => Math.exp(x - most))([one, top]);
  return both((x, sum) => x / sum)([found, folded(found, 1, true, 0, (a, b) => a + b)]);
}

function best([one]) {
  const [rows, length] = one.shape;
  const found = Float64Array.from({ length: rows }, (_, b) => {
    const row = one.data.subarray(b * length, (b + 1) * length);
    return row.indexOf(Math.max(...row));
  });
  return tensor([rows], found);
}

function coded([one], { keys_strings, values_int64s, default_int64 }) {
  const known = new Map(keys_strings.map((key, j) => [key, values_int64s[j]]));
  return tensor(one.shape, Float64Array.from(one.data, (cell) => known.get(cell) ?? default_int64));
}

const positive = (one) => Array.from(one.data.keys()).filter((i) => one.data[i]);
const sum = ([one, axes], { keepdims }) => folded(one, axes.data[0], keepdims, 0, (a, b) => a + b);
const most = ([one], { axes, keepdims }) => folded(one, axes[0], keepdims, -Infinity, Math.max);
const mean = ([one], { axes, keepdims }) => {
  const total = folded(one, axes[0], keepdims, 0, (a, b) => a + b), n = one.shape[axes[0]];
  return tensor(total.shape, total.data.map((x) => x / n));
};
const where = ([condition, one, other]) => {
  const shape = commonShape(condition.shape, one.shape, other.shape);
  const [chosen, yes, no] = [condition, one, other].map((each) => expanded(each, shape));
  return tensor(shape, chosen.map((choice, i) => (choice ? yes[i] : no[i])));
};

const OPERATORS = {
  Abs: each(Math.abs), Erf: each(erf), Exp: each(Math.exp), Floor: each(Math.floor), Sqrt: each(Math.sqrt),
  Tanh: each(Math.tanh), Reciprocal: each((x) => 1 / x), Relu: each((x) => Math.max(x, 0)),
  LeakyRelu: ([one], { alpha }) => tensor(one.shape, one.data.map((x) => (x < 0 ? alpha * x : x))),
  IsNaN: each((x) => Number(Number.isNaN(x))), Not: each((x) => 1 - x),
  Cast: ([one], { to }) => (to === 7 ? each(Math.trunc)([one]) : one), // 7: whole numbers
  Add: both((x, y) => x + y), Sub: both((x, y) => x - y), Mul: both((x, y) => x * y), Div: both((x, y) => x / y),
  Max: both(Math.max), Min: both(Math.min), And: both((x, y) => x * y), Equal: both((x, y) => Number(x === y)),
  Greater: both((x, y) => Number(x > y)), GreaterOrEqual: both((x, y) => Number(x >= y)),
  LessOrEqual: both((x, y) => Number(x <= y)),
  ArgMax: best, Concat: joined, Gather: gathered, GatherND: gatheredOfRow, LabelEncoder: coded,
  MatMul: multiplied, ReduceMax: most, ReduceMean: mean, ReduceSum: sum, Reshape: reshaped,
  ScatterElements: scattered, ScatterND: rowsReplaced, Slice: part, Softmax: softmax, TopK: largest,
  Transpose: turned, Unsqueeze: withAxes, Where: where,
  Expand: ([one, to]) => {
    const shape = commonShape(one.shape, Array.from(to.data));
    return tensor(shape, expanded(one, shape));
  },
  Identity: ([one]) => one,
  NonZero: ([one]) => { const found = positive(one); return tensor([1, found.length], Float64Array.from(found)); },
  Shape: ([one]) => tensor([one.shape.length], Float64Array.from(one.shape)),
  Size: ([one]) => tensor([], Float64Array.of(one.data.length)),
  Squeeze: ([one, axes]) => tensor(one.shape.filter((_, axis) => axis !== axes.data[0]), one.data),
};

// Run the nodes of a graph over what is known already; return what is known afterwards.
function runGraph(graph, known) {
  for (const constant of graph.constants) known[constant.name] = constant;
  for (const { operator, inputs, outputs, attributes } of graph.nodes) {
    const given = inputs.map((name) => known[name]);
    let found;
    if (operator === "If") {
      const branch = given[0].data[0] ? attributes.then_branch : attributes.else_branch;
      found = runGraph(branch, Object.create(known))[branch.outputs[0]];
    } else {
      if (!(operator in OPERATORS)) throw new Error(`This page has no operator ${operator}.`);
      found = OPERATORS[operator](given, attributes);
    }
    [found].flat().forEach((one, j) => { known[outputs[j]] = one; });
  }
  return known;
}
