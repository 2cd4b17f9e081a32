// What the page shows: small things as JSON, long rows of numbers as base64 in elements of their own.
const $ = (id) => document.getElementById(id);
const meta = JSON.parse($("meta").textContent);
const ids = JSON.parse($("ids").textContent);
const count = ids.length;

function bytes(name) {
  const text = $(name).textContent;
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

// Blobs are decoded when first asked for: a page opens without those it does not show yet.
const decoded = new Map();
function numbers(name, Type) {
  if (!decoded.has(name)) decoded.set(name, new Type(bytes(name).buffer));
  return decoded.get(name);
}
function texts(name) {
  if (!decoded.has(name)) decoded.set(name, JSON.parse($(name).textContent));
  return decoded.get(name);
}

const NONE = 0xffff;

// The value of a column at a node, as text; null where there is none.
function valueOf(column, node) {
  if (column.kind === "category") {
    const code = numbers(column.data, Uint16Array)[node];
    return code === NONE ? null : column.names[code];
  }
  if (column.kind === "number") {
    const value = numbers(column.data, Float32Array)[node];
    return Number.isNaN(value) ? null : String(Number(value.toPrecision(7)));
  }
  return texts(column.data)[node] || null;
}

function nearestOf(node) {
  const k = meta.neighbours.k;
  const rows = numbers(meta.neighbours.rows, Uint32Array);
  const cosines = numbers(meta.neighbours.cosines, Float32Array);
  const found = [];
  for (let i = node * k; i < (node + 1) * k; i++) found.push({ node: rows[i], cosine: cosines[i] });
  return found;
}

// Ids and values are text, whatever they hold: they only ever become text nodes.
function element(tag, className, text) {
  const out = document.createElement(tag);
  if (className) out.className = className;
  if (text !== undefined) out.textContent = text;
  return out;
}
const short = (text, most = 300) => (text.length > most ? text.slice(0, most) + "\u2026" : text);
