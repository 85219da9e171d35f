"use strict";

// Tensors { shape, data }: every number is a double; truths are 0 and 1; text stands in a list.

const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);
const tensor = (shape, data) => ({ shape, data: data ?? new Float64Array(sizeOf(shape)) });

function stridesOf(shape) {
  const found = new Array(shape.length).fill(1);
  for (let i = shape.length - 2; i >= 0; i--) found[i] = found[i + 1] * shape[i + 1];
  return found;
}

function commonShape(...shapes) {
  const rank = Math.max(...shapes.map((shape) => shape.length));
  return Array.from({ length: rank }, (_, axis) => {
    const lengths = shapes.map((shape) => shape[shape.length - rank + axis] ?? 1);
    return lengths.find((length) => length !== 1) ?? 1;
  });
}

// Where each entry of a shape is read from in a smaller tensor: its axes of length 1 repeat.
function placesIn(small, shape) {
  const own = stridesOf(small), lead = shape.length - small.length;
  const steps = shape.map((_, axis) => (axis < lead || small[axis - lead] === 1 ? 0 : own[axis - lead]));
  const found = new Int32Array(sizeOf(shape)), count = new Array(shape.length).fill(0);
  for (let i = 0, at = 0; i < found.length; i++) {
    found[i] = at;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      at += steps[axis];
      if (++count[axis] < shape[axis]) break;
      at -= steps[axis] * shape[axis];
      count[axis] = 0;
    }
  }
  return found;
}

const expanded = (one, shape) => {
  if (sizeOf(one.shape) === sizeOf(shape) && one.shape.length === shape.length) return one.data;
  const places = placesIn(one.shape, shape), found = new Float64Array(places.length);
  for (let i = 0; i < found.length; i++) found[i] = one.data[places[i]];
  return found;
};

const each = (change) => ([one]) => tensor(one.shape, Float64Array.from(one.data, change));

const both = (join) => ([one, other]) => {
  const shape = commonShape(one.shape, other.shape), found = tensor(shape);
  const left = expanded(one, shape), right = expanded(other, shape);
  for (let i = 0; i < found.data.length; i++) found.data[i] = join(left[i], right[i]);
  return found;
};

const axisOf = (axis, rank) => (axis < 0 ? axis + rank : axis);

// An axis folded to one entry by a function of the entry so far and the next.
function folded(one, axis, keep, begin, join) {
  const at = axisOf(axis, one.shape.length), length = one.shape[at];
  const inner = sizeOf(one.shape.slice(at + 1)), outer = sizeOf(one.shape.slice(0, at));
  const shape = [...one.shape.slice(0, at), ...(keep ? [1] : []), ...one.shape.slice(at + 1)];
  const found = tensor(shape);
  for (let o = 0; o < outer; o++) {
    for (let i = 0; i < inner; i++) {
      let so_far = begin;
      for (let j = 0; j < length; j++) so_far = join(so_far, one.data[(o * length + j) * inner + i]);
      found.data[o * inner + i] = so_far;
    }
  }
  return found;
}

function multiplied([one, other]) {
  const [rows, inner] = one.shape.slice(-2), columns = other.shape.at(-1);
  const lead = commonShape(one.shape.slice(0, -2), other.shape.slice(0, -2));
  const found = tensor([...lead, rows, columns]);
  const left = placesIn(one.shape.slice(0, -2), lead), right = placesIn(other.shape.slice(0, -2), lead);
  for (let b = 0; b < left.length; b++) {
    const x = left[b] * rows * inner, y = right[b] * inner * columns, to = b * rows * columns;
    for (let r = 0; r < rows; r++) {
      for (let k = 0; k < inner; k++) {
        const weight = one.data[x + r * inner + k];
        if (weight === 0) continue;
        const from = y + k * columns, row = to + r * columns;
        for (let c = 0; c < columns; c++) found.data[row + c] += weight * other.data[from + c];
      }
    }
  }
  return found;
}

// erf: a series near 0, a continued fraction further out.
function erf(x) {
  const size = Math.abs(x);
  if (size > 6) return Math.sign(x);
  if (size < 2.5) {
    let term = x, sum = x;
    for (let n = 1; n < 60; n++) { term *= -x * x / n; sum += term / (2 * n + 1); }
    return 2 / Math.sqrt(Math.PI) * sum;
  }
  let fraction = size;
  for (let n = 60; n > 0; n--) fraction = size + n / 2 / fraction;
  return Math.sign(x) * (1 - Math.exp(-x * x) / (fraction * Math.sqrt(Math.PI)));
}
