// Which colour a node has, and the legend that says so.
const packed = (rgb) => (((rgb & 0xff) << 16) | (rgb & 0xff00) | (rgb >> 16)) >>> 0;
const css = (rgb) => "#" + rgb.toString(16).padStart(6, "0");
const colourOf = (code) => (code < meta.palette.length ? meta.palette[code] : meta.other);

function paint(column) {
  state.column = column;
  state.isolated = null;
  state.emphasis = null;
  state.colours = new Uint32Array(count);
  if (!column) {
    state.colours.fill(packed(meta.palette[0]));
  } else if (column.kind === "category") {
    const codes = numbers(column.data, Uint16Array);
    for (let i = 0; i < count; i++) state.colours[i] = packed(codes[i] === NONE ? meta.other : colourOf(codes[i]));
  } else {
    const values = numbers(column.data, Float32Array);
    const last = meta.ramp.length - 1;
    const span = column.most - column.least || 1;
    for (let i = 0; i < count; i++) {
      const share = (values[i] - column.least) / span;
      state.colours[i] = packed(Number.isNaN(values[i]) ? meta.other : meta.ramp[Math.round(share * last)]);
    }
  }
  legend();
  redrawAll();
}

function isolate(code) {
  state.isolated = state.isolated === code ? null : code;
  if (state.isolated === null) {
    state.emphasis = null;
  } else {
    const codes = numbers(state.column.data, Uint16Array);
    state.emphasis = (node) => codes[node] === code;
  }
  for (const button of $("legend").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.code) === state.isolated));
  }
  redrawAll();
}

function legend() {
  const host = $("legend");
  host.replaceChildren();
  const column = state.column;
  if (!column) return;
  host.append(element("strong", "", short(column.name, 80)));
  if (column.kind === "number") {
    const ramp = host.appendChild(element("div", "ramp"));
    ramp.style.background = `linear-gradient(to right, ${meta.ramp.map(css).join(",")})`;
    const ends = host.appendChild(element("div", "ends"));
    for (const value of [column.least, column.most]) ends.append(element("span", "", String(Number(value.toPrecision(5)))));
    return;
  }
  const sizes = new Uint32Array(column.names.length);
  let none = 0;
  for (const code of numbers(column.data, Uint16Array)) {
    if (code === NONE) none++;
    else sizes[code]++;
  }
  const list = host.appendChild(element("ul"));
  const row = (code, name, size, rgb) => {
    const button = list.appendChild(element("li")).appendChild(element("button"));
    button.type = "button";
    button.dataset.code = code;
    button.setAttribute("aria-pressed", "false");
    button.title = short(name);
    button.append(element("i"), element("span", "name", short(name, 120)), element("span", "count", size.toLocaleString("en")));
    button.firstChild.style.background = css(rgb);
    button.addEventListener("click", () => isolate(code));
  };
  column.names.forEach((name, code) => row(code, name, sizes[code], colourOf(code)));
  if (none) row(NONE, "none", none, meta.other);
}
