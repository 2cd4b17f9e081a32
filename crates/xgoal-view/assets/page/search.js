// Finding a node by its id: what begins with the words first, then what holds them.
const MOST_FOUND = 20;
let lowered = null;

function find(words) {
  const wanted = words.toLowerCase();
  if (!wanted) return [];
  if (!lowered) lowered = ids.map((id) => id.toLowerCase());
  const [exact, first, rest] = [[], [], []];
  for (let i = 0; i < count; i++) {
    const at = lowered[i].indexOf(wanted);
    if (at === -1) continue;
    if (at > 0) {
      if (rest.length < MOST_FOUND) rest.push(i);
    } else if (lowered[i].length === wanted.length) exact.push(i);
    else if (first.length < MOST_FOUND) first.push(i);
  }
  return [...exact, ...first, ...rest].slice(0, MOST_FOUND);
}

function searching() {
  const input = $("search");
  const list = $("found");
  let found = [];
  let at = -1;
  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const mark = (next) => {
    at = next;
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === at)));
    if (at >= 0) {
      list.children[at].scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", `found-${at}`);
    }
  };
  const take = (node) => {
    close();
    choose(node);
  };
  input.addEventListener("input", () => {
    found = find(input.value.trim());
    list.replaceChildren();
    found.forEach((node, i) => {
      const item = list.appendChild(element("li", "", short(ids[node])));
      item.id = `found-${i}`;
      item.setAttribute("role", "option");
      item.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        take(node);
      });
    });
    if (!found.length && input.value.trim()) list.append(element("li", "none", "no such node"));
    list.hidden = !list.children.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    mark(found.length ? 0 : -1);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && found.length) mark((at + 1) % found.length);
    else if (event.key === "ArrowUp" && found.length) mark((at + found.length - 1) % found.length);
    else if (event.key === "Enter" && at >= 0) take(found[at]);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
  input.addEventListener("blur", close);
}
