// The chosen node: what is known about it and which nodes are nearest.
function choose(node, show = true) {
  state.chosen = node;
  const host = $("node");
  host.replaceChildren();
  if (node === null) {
    host.append(element("p", "note", "Choose a node to see what is nearest to it."));
  } else {
    if (show) plots[0].show(node);
    host.append(element("h3", "", ids[node]), facts(node));
    const near = nearestOf(node);
    if (near.length) {
      host.append(element("strong", "", "Nearest nodes (cosine)"));
      const list = host.appendChild(element("ol"));
      list.id = "nearest";
      for (const { node: other, cosine } of near) list.append(neighbour(other, cosine));
    }
  }
  redrawAll();
}

function facts(node) {
  const list = element("dl");
  for (const column of meta.columns) {
    const value = valueOf(column, node);
    if (value !== null) list.append(element("dt", "", short(column.name, 80)), element("dd", "", value));
  }
  return list;
}

function neighbour(node, cosine) {
  const item = element("li");
  const button = item.appendChild(element("button"));
  button.type = "button";
  button.dataset.node = node;
  button.title = short(ids[node]);
  button.append(element("span", "name", short(ids[node])), element("span", "count", cosine.toFixed(4)));
  button.addEventListener("click", () => choose(node));
  button.addEventListener("pointerenter", () => hover(node));
  button.addEventListener("pointerleave", () => hover(null));
  return item;
}

// Rings only: the points below stay as they are.
function hover(node, x, y) {
  const tip = $("tip");
  if (node === state.hover && node === null) return;
  if (node !== state.hover) {
    state.hover = node;
    for (const plot of plots) if (plot.width) plot.drawRings(plot.ratio);
  }
  if (node === null || x === undefined) {
    tip.hidden = true;
    return;
  }
  if (tip.dataset.node !== String(node) || tip.hidden) {
    tip.dataset.node = node;
    tip.replaceChildren(element("b", "", short(ids[node], 200)));
    for (const column of meta.columns) {
      const value = valueOf(column, node);
      if (value !== null) tip.append(element("div", "more", `${short(column.name, 60)}: ${short(value, 200)}`));
    }
    tip.hidden = false;
  }
  const box = tip.getBoundingClientRect();
  const left = x + 16 + box.width > innerWidth ? x - box.width - 12 : x + 16;
  const top = y + 16 + box.height > innerHeight ? y - box.height - 12 : y + 16;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}
