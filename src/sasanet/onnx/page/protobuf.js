"use strict";

// An ONNX file from its bytes: what a graph needs of the protocol buffer, as plain objects.

const KINDS = { 1: Float32Array, 7: BigInt64Array, 9: Uint8Array, 11: Float64Array };
const TEXT = new TextDecoder();

// Every field of a message: its number, and a number, or the bytes of text, array or message.
function fieldsOf(bytes) {
  const found = [], view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const varint = () => {
    let value = 0n, shift = 0n;
    for (;;) {
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number(BigInt.asIntN(64, value));
      shift += 7n;
    }
  };
  while (at < bytes.length) {
    const key = varint(), wire = key & 7;
    let value;
    if (wire === 0) value = varint();
    else if (wire === 2) { const length = varint(); value = bytes.subarray(at, at += length); }
    else if (wire === 5) { value = view.getFloat32(at, true); at += 4; }
    else { value = view.getFloat64(at, true); at += 8; }
    found.push([key >> 3, value]);
  }
  return found;
}

function numbersOf(value) { // repeated integers come one by one, or packed
  if (typeof value === "number") return [value];
  const framed = [];
  for (let i = 0, start = 0; i < value.length; i++) {
    if (value[i] >= 128) continue;
    framed.push(fieldsOf(Uint8Array.from([8, ...value.subarray(start, i + 1)]))[0][1]);
    start = i + 1;
  }
  return framed;
}

function readTensor(bytes) {
  const found = { name: "", shape: [], data: [] };
  let kind = 0, raw = null;
  for (const [field, value] of fieldsOf(bytes)) {
    if (field === 1) found.shape.push(...numbersOf(value));
    else if (field === 2) kind = value;
    else if (field === 6) found.data.push(TEXT.decode(value));
    else if (field === 8) found.name = TEXT.decode(value);
    else if (field === 9) raw = value;
  }
  if (raw !== null) {
    const own = raw.slice(); // its bytes begin where a number may
    found.data = Float64Array.from(new KINDS[kind](own.buffer), Number);
  }
  return found;
}

function readAttribute(bytes) {
  let name = "", value;
  for (const [field, found] of fieldsOf(bytes)) {
    if (field === 1) name = TEXT.decode(found);
    else if (field === 3) value = found;
    else if (field === 4) value = TEXT.decode(found);
    else if (field === 5) value = readTensor(found);
    else if (field === 6) value = readGraph(found);
    else if (field === 8) value = [...(value || []), ...numbersOf(found)];
    else if (field === 9) value = [...(value || []), TEXT.decode(found)];
  }
  return [name, value];
}

function readNode(bytes) {
  const found = { inputs: [], outputs: [], operator: "", attributes: {} };
  for (const [field, value] of fieldsOf(bytes)) {
    if (field === 1) found.inputs.push(TEXT.decode(value));
    else if (field === 2) found.outputs.push(TEXT.decode(value));
    else if (field === 4) found.operator = TEXT.decode(value);
    else if (field === 5) { const [name, own] = readAttribute(value); found.attributes[name] = own; }
  }
  return found;
}

function readGraph(bytes) {
  const found = { nodes: [], constants: [], inputs: [], outputs: [] };
  const nameOf = (value) => TEXT.decode(fieldsOf(value).find(([field]) => field === 1)[1]);
  for (const [field, value] of fieldsOf(bytes)) {
    if (field === 1) found.nodes.push(readNode(value));
    else if (field === 5) found.constants.push(readTensor(value));
    else if (field === 11) found.inputs.push(nameOf(value));
    else if (field === 12) found.outputs.push(nameOf(value));
  }
  return found;
}

// { graph, about }: the graph, and the metadata that was written beside it.
function readModel(bytes) {
  const found = { graph: null, about: {} };
  for (const [field, value] of fieldsOf(bytes)) {
    if (field === 7) found.graph = readGraph(value);
    if (field === 14) {
      const [key, text] = fieldsOf(value).map(([, own]) => TEXT.decode(own));
      found.about[key] = text ?? "";
    }
  }
  return found;
}
