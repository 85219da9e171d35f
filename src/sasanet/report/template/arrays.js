"use strict";

// Arrays from text, and numbers as text.

const KINDS = { f8: Float64Array, f4: Float32Array, i2: Int16Array, u2: Uint16Array, u1: Uint8Array };

function unpack(packed) {
  const text = atob(packed.text);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const numbers = new KINDS[packed.kind](bytes.buffer);
  return packed.unit ? Float64Array.from(numbers, (number) => number * packed.unit) : numbers;
}

// The position of a number among its column's knots: constant beyond both ends, as in the encoder.
function placeOf(value, knots) {
  const last = knots.length - 1;
  if (!(value > knots[0])) return 0;
  if (value >= knots[last]) return last;
  let low = 0, high = last;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (knots[middle] <= value) low = middle; else high = middle;
  }
  return low + (value - knots[low]) / (knots[high] - knots[low]);
}

function shown(value) {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
}

// So many decimals; of very small or large numbers, as many of a power of ten: there it is below 0.
function fixed(value, decimals) {
  return decimals < 0 ? value.toExponential(-decimals) : value.toFixed(decimals);
}

function signed(value, decimals) {
  const text = fixed(Math.abs(value), decimals);
  return (value < 0 && Number(text) !== 0 ? "−" : "+") + text;
}

function plain(value, decimals) {
  return fixed(value, decimals).replace("-", "−");
}

function percent(share) {
  return (100 * share).toFixed(1) + "\u00a0%";
}

function probabilities(raw) {
  const scores = raw.length === 1 ? [0, raw[0]] : Array.from(raw);
  const most = Math.max(...scores);
  const shares = scores.map((score) => Math.exp(score - most));
  const sum = shares.reduce((a, b) => a + b, 0);
  return shares.map((share) => share / sum);
}
