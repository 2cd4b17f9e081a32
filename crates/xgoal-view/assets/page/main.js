// Puts the page together.
const state = { column: null, colours: null, emphasis: null, isolated: null, hover: null, chosen: null };
const plots = [];
const redrawAll = () => plots.forEach((plot) => plot.redraw());

function colours() {
  const select = $("colour");
  const usable = meta.columns.filter((column) => column.kind !== "text");
  usable.forEach((column, i) => select.append(new Option(short(column.name, 60), String(i))));
  if (!usable.length) select.append(new Option("nothing", "-1"));
  select.addEventListener("change", () => paint(usable[Number(select.value)] || null));
  paint(usable[0] || null);
}

function moving(plot) {
  const host = plot.host;
  const down = new Map();
  let travelled = 0;
  const place = (event) => {
    const box = host.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  host.addEventListener("pointerdown", (event) => {
    down.set(event.pointerId, place(event));
    travelled = 0;
    host.setPointerCapture(event.pointerId);
  });
  host.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    const last = down.get(event.pointerId);
    if (!last) {
      hover(plot.pick(x, y), event.clientX, event.clientY);
      return;
    }
    if (down.size === 2) {
      const other = [...down.entries()].find(([id]) => id !== event.pointerId)[1];
      const span = (a) => Math.hypot(a[0] - other[0], a[1] - other[1]);
      plot.zoomBy(span([x, y]) / Math.max(1, span(last)), (x + other[0]) / 2, (y + other[1]) / 2);
    } else {
      plot.moveBy(x - last[0], y - last[1]);
      host.classList.add("moving");
    }
    travelled += Math.hypot(x - last[0], y - last[1]);
    down.set(event.pointerId, [x, y]);
    hover(null);
  });
  const up = (event) => {
    const last = down.get(event.pointerId);
    down.delete(event.pointerId);
    host.classList.remove("moving");
    if (event.type === "pointerup" && last && travelled < 4) choose(plot.pick(...last), false);
  };
  host.addEventListener("pointerup", up);
  host.addEventListener("pointercancel", up);
  host.addEventListener("pointerleave", () => hover(null));
  host.addEventListener(
    "wheel",
    (event) => {
      // A page is scrolled by the wheel until the map is asked for.
      if (document.activeElement !== host && !event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      plot.zoomBy(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), ...place(event));
    },
    { passive: false },
  );
  host.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
    if (steps[event.key]) plot.moveBy(...steps[event.key]);
    else if (event.key === "+" || event.key === "=") plot.zoomBy(1.3);
    else if (event.key === "-") plot.zoomBy(1 / 1.3);
    else if (event.key === "0") plot.whole();
    else if (event.key === "Enter") choose(plot.pick(plot.width / 2, plot.height / 2, 200), false);
    else if (event.key === "Escape") choose(null);
    else return;
    event.preventDefault();
  });
  $("closer").addEventListener("click", () => plot.zoomBy(1.5));
  $("farther").addEventListener("click", () => plot.zoomBy(1 / 1.5));
  $("whole").addEventListener("click", () => plot.whole());
}

function panels() {
  meta.panels.forEach((panel, i) => {
    const host = $(`panel-${i}`);
    const nodes = meta.sample ? numbers(meta.sample, Uint32Array) : null;
    const plot = new Plot(host, numbers(panel, Uint16Array), nodes);
    plots.push(plot);
    const picked = (event) => {
      const box = host.getBoundingClientRect();
      return plot.pick(event.clientX - box.left, event.clientY - box.top);
    };
    host.addEventListener("pointermove", (event) => hover(picked(event), event.clientX, event.clientY));
    host.addEventListener("pointerleave", () => hover(null));
    host.addEventListener("click", (event) => choose(picked(event)));
  });
}

function theme() {
  const button = $("theme");
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const say = () => {
    button.setAttribute("aria-pressed", String(dark()));
    redrawAll();
  };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    say();
  });
  system.addEventListener("change", say);
  // Paper is white.
  let before = null;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme || "";
    root.dataset.theme = "light";
    plots.forEach((plot) => plot.flatten());
  });
  addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before;
    else delete root.dataset.theme;
    say();
  });
  say();
}

plots.push(new Plot($("canvas"), numbers(meta.map, Uint16Array), null));
colours();
moving(plots[0]);
searching();
theme();
for (const button of document.querySelectorAll("button[data-pick]")) {
  button.addEventListener("click", () => {
    choose(Number(button.dataset.pick));
    $("map").scrollIntoView();
  });
}
// The panels are further down: the map can be used before they are there.
requestAnimationFrame(() =>
  requestAnimationFrame(() => {
    document.documentElement.dataset.ready = String(Math.round(performance.now()));
    panels();
  }),
);
