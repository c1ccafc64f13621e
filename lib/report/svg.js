// svg.js: zoom, search and tooltips of the flame graph. Without it the picture stays as it is in the file.
//
// The whole profile is in <metadata>; here it is drawn anew, as wide as the window: of the frame that is zoomed to, only
// what is wide enough to be seen, and of that only the rows on the screen, since a stack may be thousands deep.
"use strict";
(() => {
  const NS = "http://www.w3.org/2000/svg", HTML = "http://www.w3.org/1999/xhtml";
  const ROW = 18, HEAD = 76;     // as in svg.c
  const LEAST = 0.4;             // pixels; what is narrower is reached by zooming
  const MORE = 30;               // rows drawn beyond the screen
  const svg = document.currentScript.ownerSVGElement;
  const graph = svg.querySelector(".graph"), head = svg.querySelector(".head");
  const profile = JSON.parse(svg.querySelector("metadata").textContent);
  const frames = profile.frames.map(([fn, place, hue, expr]) => ({ fn, place, hue, expr, hit: false }));
  const nodes = read(profile.nodes);
  let zoomed = 0, width = 0, drawn = new Map(), rows = [], scale = 1, column = 7.2;

  // Four numbers for each node, parents before children: level, frame, nanoseconds, samples.
  function read(numbers) {
    const all = [], path = [];
    for (let i = 0; i < numbers.length; i += 4) {
      const [level, frame, ns, samples] = numbers.slice(i, i + 4);
      const above = level ? path[level - 1] : null;
      const left = above ? above.right : 0;
      const node = { at: all.length, level, frame: frames[frame], ns, samples, above, self: ns, left };
      node.right = node.left; // where the next child begins
      if (above) {
        above.right += ns;
        above.self -= ns;
      }
      for (let at = path.length; at-- > level;)
        path[at].end = all.length; // behind the last node of its subtree
      path.length = level;
      path[level] = node;
      all.push(node);
    }
    for (const node of path)
      node.end = all.length;
    return all;
  }

  function make(name, attributes, text) {
    const element = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes))
      element.setAttribute(key, value);
    if (text !== undefined)
      element.textContent = text;
    return element;
  }

  // Columns that a text takes in a font of one width: East Asian characters are two wide.
  const wide = (c) => c.codePointAt(0) >= 0x1100 ? 2 : 1;
  function cut(text, room) {
    let used = 0, kept = "";
    for (const c of text) {
      used += wide(c);
      if (used <= room - 1)
        kept += c;
      if (used > room)
        return kept ? kept + "\u2026" : "";
    }
    return text;
  }
  function wrap(text, room) {
    const lines = [""];
    let used = 0;
    for (const c of text) {
      if ((used += wide(c)) > room) {
        lines.push("");
        used = wide(c);
      }
      lines[lines.length - 1] += c;
    }
    return lines.length > 6 ? [...lines.slice(0, 6), "\u2026"] : lines;
  }

  const title = (frame) => frame.place && frame.fn ? `${frame.fn} (${frame.place})` : frame.fn || frame.place;
  const ms = (ns) => `${(ns / 1e6).toFixed(ns < 1e8 ? 3 : 1)} ms`;
  const share = (ns, all) => `${(all ? 100 * ns / all : 0).toFixed(ns * 1000 < all ? 3 : 1)} %`;

  function layOut() {
    const all = nodes[zoomed];
    width = svg.getBoundingClientRect().width;
    scale = all.ns ? width / all.ns : 0;
    rows = [];
    for (let node = all; node; node = node.above)
      rows[node.level] = [node];
    for (let i = zoomed + 1; i < all.end;) {
      const node = nodes[i];
      if (node.ns * scale >= LEAST) {
        (rows[node.level] ||= []).push(node);
        i++;
      } else {
        i = node.end;
      }
    }
    for (const line of lines)
      line.element.textContent = cut(line.text, Math.floor((width - 16) / (column * line.size)));
    const height = HEAD + rows.length * ROW + 12;
    graph.setAttribute("height", height - HEAD);
    svg.setAttribute("height", height);
    for (const row of drawn.values())
      row.remove();
    drawn.clear();
    draw();
  }

  const isAbove = (node) => node.level < nodes[zoomed].level;
  const look = (node) => `frame ${node.frame.hit ? "hit" : node.frame.hue}${isAbove(node) ? " above" : ""}`;

  function box(node) {
    const above = isAbove(node), all = nodes[zoomed];
    const x = above ? 0 : (node.left - all.left) * scale, w = above ? width : node.ns * scale;
    const element = make("svg", { class: look(node), x, y: 0, width: w - Math.min(1, w / 5), height: ROW - 1 });
    element.append(make("rect", { width: "100%", height: "100%" }));
    const text = cut(title(node.frame), Math.floor((w - 7) / column));
    if (text)
      element.append(make("text", { x: 3, y: 13 }, text));
    element.node = node;
    return element;
  }

  // The rows on the screen, and some around them, so that scrolling shows no gaps.
  function draw() {
    const top = Math.max(0, -svg.getBoundingClientRect().top);
    const first = Math.floor((top - HEAD) / ROW) - MORE;
    const last = Math.ceil((top + window.innerHeight - HEAD) / ROW) + MORE;
    head.setAttribute("transform", `translate(0 ${top})`);
    for (const [level, row] of drawn) {
      if (level >= first && level <= last)
        continue;
      row.remove();
      drawn.delete(level);
    }
    for (let level = Math.max(0, first); level <= last && level < rows.length; level++) {
      if (drawn.has(level))
        continue;
      const row = make("g", { transform: `translate(0 ${level * ROW})` });
      row.append(...rows[level].map(box));
      graph.append(row);
      drawn.set(level, row);
    }
  }

  function zoom(node) {
    zoomed = node.at;
    whole.style.display = zoomed ? "" : "none";
    tip.style.display = "none";
    layOut();
    count();
  }

  // A text is looked for as it is, case aside; between slashes it is a regular expression.
  function search() {
    const text = field.value, slashes = /^\/(.+?)\/?$/.exec(text);
    let matches = () => false;
    if (slashes) {
      try {
        const expression = new RegExp(slashes[1], "u");
        matches = (s) => expression.test(s);
      } catch {
        matches = null;
      }
    } else if (text) {
      const lower = text.toLowerCase();
      matches = (s) => s.toLowerCase().includes(lower);
    }
    for (const frame of frames)
      frame.hit = matches ? matches(title(frame)) : false;
    for (const row of drawn.values())
      for (const element of row.children)
        element.setAttribute("class", look(element.node));
    count(!matches);
  }

  // What is found within something found counts once.
  function count(broken) {
    const all = nodes[zoomed];
    let ns = 0, found = false;
    for (let i = zoomed; i < all.end;) {
      const hit = nodes[i].frame.hit;
      found ||= hit;
      ns += hit ? nodes[i].ns : 0;
      i = hit ? nodes[i].end : i + 1;
    }
    if (broken)
      result.textContent = "not a regular expression";
    else if (!field.value)
      result.textContent = "";
    else
      result.textContent = found ? `matched ${share(ns, all.ns)}, ${ms(ns)}` : "no match";
  }

  function say(node, event) {
    const room = Math.max(20, Math.min(100, Math.floor((width - 40) / column)));
    const { frame } = node, all = nodes[zoomed];
    const lines = wrap(frame.fn || frame.place, room);
    if (frame.fn && frame.place)
      lines.push(...wrap(frame.place, room));
    if (frame.expr)
      lines.push(...wrap(frame.expr, room));
    lines.push(`${ms(node.ns)} of ${profile.unit}, ${share(node.ns, nodes[0].ns)}`);
    if (zoomed && node.level > all.level)
      lines.push(`${share(node.ns, all.ns)} of the frame that is zoomed to`);
    lines.push(`${ms(node.self)} by itself, ${share(node.self, nodes[0].ns)}`);
    lines.push(node.samples === 1 ? "1 sample" : `${node.samples} samples`);
    tip.replaceChildren(make("rect", { rx: 3 }));
    lines.forEach((line, i) => tip.append(make("text", { x: 8, y: 18 + i * 16 }, line)));
    tip.style.display = "";
    const inner = Math.max(...[...tip.querySelectorAll("text")].map((t) => t.getComputedTextLength()));
    const w = inner + 16, h = lines.length * 16 + 12;
    tip.firstChild.setAttribute("width", w);
    tip.firstChild.setAttribute("height", h);
    const page = svg.getBoundingClientRect();
    const below = event.clientY + 18 + h <= window.innerHeight;
    const x = Math.max(0, Math.min(event.clientX - page.left + 12, width - w - 2));
    const y = event.clientY - page.top + (below ? 18 : -h - 8);
    tip.setAttribute("transform", `translate(${x} ${y})`);
  }

  function keys(event) {
    if ((event.key === "f" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && event.target !== field)) {
      event.preventDefault();
      field.focus();
      field.select();
    } else if (event.key === "Escape" && field.value) {
      field.value = "";
      search();
    } else if (event.key === "Escape") {
      field.blur();
      zoom(nodes[0]);
    }
  }

  const found = (event) => event.target.closest(".frame")?.node;
  const holder = make("foreignObject", { x: 8, y: 46, width: 260, height: 26 });
  const field = document.createElementNS(HTML, "input");
  field.setAttribute("placeholder", "search: text or /regex/");
  field.setAttribute("aria-label", "search");
  field.setAttribute("spellcheck", "false");
  holder.append(field);
  const lines = [[".title", 14 / 12], [".facts", 1]].map(([name, size]) => {
    const element = head.querySelector(name);
    return { element, size, text: element.textContent };
  });
  const result = make("text", { class: "note result", x: 280, y: 63 });
  const whole = make("text", { class: "button whole", x: 500, y: 63 }, "whole graph (Esc)");
  const tip = make("g", { class: "tip" });
  const ruler = make("text", {}, "m".repeat(50));

  graph.replaceChildren();
  head.append(holder, result, whole, ruler);
  svg.append(tip);
  svg.setAttribute("width", "100%");
  column = ruler.getComputedTextLength() / 50 || column;
  ruler.remove();
  graph.addEventListener("click", (event) => found(event) && zoom(found(event)));
  graph.addEventListener("mousemove", (event) => found(event) && say(found(event), event));
  graph.addEventListener("mouseleave", () => { tip.style.display = "none"; });
  whole.addEventListener("click", () => zoom(nodes[0]));
  field.addEventListener("input", search);
  window.addEventListener("keydown", keys);
  window.addEventListener("scroll", draw, { passive: true });
  window.addEventListener("resize", layOut);
  zoom(nodes[0]);
})();
