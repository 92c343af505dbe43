// Made by `make page` of web/src, whose sha256 is 7c7a69d2a2675c06eed2cf4ce0da28f51bd847b2ff662069ae2dabe054599984
"use strict";
(() => {
  // src/edit.ts
  var WAIT_MS = 400;
  function edit(page2, replaced) {
    const form = document.querySelector("form#edit");
    if (!form) return;
    let timer;
    let asked = new AbortController();
    const status = form.querySelector("output");
    const ask = async () => {
      asked.abort();
      asked = new AbortController();
      const query = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, String(value)]));
      const url = `?${query}${location.hash}`;
      status.textContent = "Looking ...";
      page2.setAttribute("aria-busy", "true");
      try {
        const answer = await fetch(`?${query}`, { signal: asked.signal });
        const found = new DOMParser().parseFromString(await answer.text(), "text/html");
        const contents = found.querySelector("main");
        if (!contents) throw new Error(found.body.textContent ?? "");
        page2.replaceChildren(...contents.childNodes);
        document.title = found.title;
        history.replaceState(null, "", url);
        status.textContent = "";
        replaced();
      } catch (error) {
        if (error instanceof DOMException && error.name === "AbortError") return;
        status.textContent = error instanceof Error && error.message ? error.message : "the server does not answer";
      }
      page2.removeAttribute("aria-busy");
    };
    const soon = (ms) => {
      window.clearTimeout(timer);
      timer = window.setTimeout(() => void ask(), ms);
    };
    form.addEventListener("input", () => soon(WAIT_MS));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      soon(0);
    });
  }

  // src/point.ts
  function tokens(text) {
    return text.split(/\s+/).filter(Boolean).map(token);
  }
  function token(text) {
    const colon = text.indexOf(":");
    const [axis, value] = [text.slice(0, colon), text.slice(colon + 1)];
    const range = /^(\d+)-(\d+)$/.exec(value);
    if (range) return { axis, low: Number(range[1]), high: Number(range[2]), others: [] };
    const [single, ...others] = value.split(",").map((one) => /^\d+$/.test(one) ? Number(one) : one);
    return { axis, low: single, high: single, others };
  }
  function pointOf(named) {
    return new Map(named.map((one) => [one.axis, one.low]));
  }
  function has(point, wanted) {
    const value = point.get(wanted.axis);
    if (typeof value === "number" && typeof wanted.low === "number" && typeof wanted.high === "number") {
      if (wanted.low <= value && value <= wanted.high) return true;
    }
    return value !== void 0 && (value === wanted.low || wanted.others.includes(value));
  }
  function textOf(point) {
    return [...point].map(([axis, value]) => `${axis}:${value}`).join(" ");
  }

  // src/address.ts
  var AT = "at";
  function stateOf(hash) {
    const found = new URLSearchParams(hash.replace(/^#/, ""));
    const at = pointOf(tokens(found.get(AT) ?? ""));
    found.delete(AT);
    return { at, variants: new Map([...found].filter(([, name]) => name)) };
  }
  function hashOf(at, variants2) {
    const told2 = new URLSearchParams(at.size ? { [AT]: textOf(at) } : {});
    for (const [panel, name] of variants2) told2.set(panel, name);
    return told2.size ? `#${told2}` : "";
  }

  // src/field.ts
  var SVG = "http://www.w3.org/2000/svg";
  var LEAST = 5;
  var Field = class {
    #rect;
    #rows;
    #columns;
    #also;
    #marks = [];
    constructor(rect) {
      this.#rect = rect;
      this.#rows = side(rect.dataset["rows"]);
      this.#columns = side(rect.dataset["columns"]);
      this.#also = tokens(rect.dataset["also"] ?? "");
    }
    /** The point of the cell at a place of the window. */
    at(x, y) {
      const box = this.#rect.getBoundingClientRect();
      const found = /* @__PURE__ */ new Map();
      if (this.#rows) found.set(this.#rows.axis, part(this.#rows, y - box.top, box.height));
      if (this.#columns) found.set(this.#columns.axis, part(this.#columns, x - box.left, box.width));
      for (const one of this.#also) found.set(one.axis, one.low);
      return found;
    }
    /** The cell some rows and columns away from a point, none where the point is not in this field. */
    beside(point, down, right) {
      const found = /* @__PURE__ */ new Map();
      for (const [along, by] of [[this.#rows, down], [this.#columns, right]]) {
        if (!along) continue;
        const value = point.get(along.axis);
        const now = typeof value === "number" ? value + by : along.low;
        found.set(along.axis, Math.min(Math.max(now, along.low), along.low + along.count - 1));
      }
      for (const one of this.#also) found.set(one.axis, one.low);
      return found;
    }
    /** Draw a marker at each cell that a point is; `near` ones around it. */
    mark(point, near) {
      const marks = /* @__PURE__ */ new Map();
      for (const place2 of [point, ...near]) {
        const mark = this.#mark(place2, place2 === point ? "here" : "here near");
        const corner = mark && `${mark.getAttribute("x")} ${mark.getAttribute("y")}`;
        if (corner !== void 0 && !marks.has(corner)) marks.set(corner, mark);
      }
      const now = [...marks.values()];
      for (const old of this.#marks) old.remove();
      this.#rect.after(...now);
      this.#marks = now;
    }
    #mark(point, kind) {
      const [row, column] = [place(this.#rows, point), place(this.#columns, point)];
      if (row === void 0 || column === void 0) return void 0;
      const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => Number(this.#rect.getAttribute(name)));
      const [wide, high] = [width / (this.#columns?.count ?? 1), height / (this.#rows?.count ?? 1)];
      const [seen, tall] = [Math.max(wide, LEAST), Math.max(high, LEAST)];
      const [left, top] = [x + (column + 0.5) * wide - seen / 2, y + (row + 0.5) * high - tall / 2];
      return rectangle(kind, left, top, seen, tall);
    }
  };
  function outlined(box) {
    const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => Number(box.getAttribute(name)));
    const kind = box.classList.contains("near") ? "here near" : "here";
    const edge = rectangle(kind, x, y, width, height);
    box.parentNode.append(edge);
    return edge;
  }
  function rectangle(kind, x, y, width, height) {
    const made = document.createElementNS(SVG, "rect");
    made.setAttribute("class", kind);
    for (const [name, value] of Object.entries({ x, y, width, height })) made.setAttribute(name, String(value));
    return made;
  }
  function side(text) {
    if (!text) return void 0;
    const { axis, low, high } = token(text);
    return { axis, low: Number(low), count: Number(high) - Number(low) + 1 };
  }
  function part(along, distance, length) {
    const cell = Math.floor(distance / length * along.count);
    return along.low + Math.min(Math.max(cell, 0), along.count - 1);
  }
  function place(along, point) {
    if (!along) return 0;
    const value = point.get(along.axis);
    if (typeof value !== "number") return void 0;
    const cell = value - along.low;
    return 0 <= cell && cell < along.count ? cell : void 0;
  }

  // src/expression.ts
  function formula(tree, slots) {
    if (typeof tree === "number") return () => tree;
    if (typeof tree === "string") {
      const slot = slots.get(tree);
      if (slot === void 0) throw new Error(`a formula mentions '${tree}', which its map does not have`);
      return (values) => values[slot];
    }
    const [operator, ...rest] = tree;
    const parts = rest.map((part2) => formula(part2, slots));
    if (operator === "+") return (values) => parts.reduce((sum, part2) => sum + part2(values), 0);
    const [a, b, c] = parts;
    if (a === void 0 || b === void 0) throw new Error(`'${operator}' has ${parts.length} parts`);
    switch (operator) {
      case "*":
        return (values) => a(values) * b(values);
      case "/":
        return (values) => Math.floor(a(values) / b(values));
      case "%":
        return (values) => remainder(a(values), b(values));
      case "^":
        return (values) => a(values) ^ b(values);
      case "?":
        if (c === void 0) throw new Error("'?' has 2 parts");
        return (values) => a(values) >= 0 ? b(values) : c(values);
      default:
        throw new Error(`unknown operator '${operator}'`);
    }
  }
  function remainder(dividend, divisor) {
    const found = dividend % divisor;
    return found < 0 ? found + divisor : found + 0;
  }

  // src/map.ts
  var AffineMap = class {
    upper;
    lower;
    #rungs;
    #guards;
    #address;
    #parameters;
    constructor(text) {
      this.upper = text.rungs[0].dims;
      this.lower = text.rungs.at(-1).dims.map((dim) => dim.name);
      const names = [...this.upper, ...text.parameters].map((named) => named.name);
      const slots = new Map(names.map((name, slot) => [name, slot]));
      this.#rungs = text.rungs.map((rung) => rung.dims.map((dim) => formula(dim.value, slots)));
      this.#guards = text.guards.map((guard) => ({ index: formula(guard.index, slots), size: guard.size }));
      this.#address = formula(text.address, slots);
      this.#parameters = text.parameters.map((parameter) => parameter.value);
    }
    /** The last rung's values; undefined where a guard fails. */
    place(upper) {
      const values = this.#slots(upper);
      const holds = ({ index, size }) => inside(index(values), size);
      return this.#guards.every(holds) ? this.#rungs.at(-1).map((value) => value(values)) : void 0;
    }
    values(upper) {
      const values = this.#slots(upper);
      const guards = this.#guards.map(({ index, size }) => {
        const value = index(values);
        return { value, holds: inside(value, size) };
      });
      return {
        rungs: this.#rungs.map((rung) => rung.map((value) => value(values))),
        guards,
        address: this.#address(values),
        exists: guards.every((guard) => guard.holds)
      };
    }
    #slots(upper) {
      return Float64Array.from([...upper, ...this.#parameters]);
    }
  };
  function inside(value, size) {
    return 0 <= value && value < size;
  }

  // src/follow.ts
  var Follower = class {
    maps;
    #follows;
    #arrays;
    #filled;
    constructor(study) {
      this.maps = new Map(Object.entries(study.maps).map(([name, text]) => [name, new AffineMap(text)]));
      this.#follows = study.follows.filter((follow) => this.maps.has(follow.map));
      this.#arrays = this.#follows.filter((one) => study.maps[one.map].array).map((one) => Object.values(one.to));
      this.#filled = Object.entries(study.filled);
    }
    /** The values of a map's first rung that a point gives; undefined for those that it does not. */
    upper(map, point) {
      const found = this.#follows.find((follow) => follow.map === map);
      const of = this.maps.get(map);
      return (of?.upper ?? []).map((dim) => {
        const value = point.get(found?.from[dim.name] ?? dim.name);
        return typeof value === "number" && value < dim.size ? value : void 0;
      });
    }
    /** The axis that a dim of a map's first rung is. */
    axis(map, dim) {
      return this.#follows.find((follow) => follow.map === map)?.from[dim] ?? dim;
    }
    completed(given) {
      const point = new Map(given);
      for (let known = -1; known < point.size; ) {
        known = point.size;
        for (const follow of this.#follows) {
          const place2 = this.#place(follow, point);
          for (const [axis, value] of place2 ?? []) if (!point.has(axis)) point.set(axis, value);
        }
      }
      return { point, near: this.#follows.flatMap((follow) => this.#near(follow, point)) };
    }
    /** Axes that a follow gives; undefined where one that it needs is missing, or nothing is there.  What has one value needs none. */
    #place(follow, point) {
      const map = this.maps.get(follow.map);
      const upper = [];
      for (const dim of map.upper) {
        const axis = follow.from[dim.name];
        const value = axis === void 0 ? 0 : point.get(axis) ?? (dim.size === 1 ? 0 : void 0);
        if (typeof value !== "number" || value >= dim.size) return void 0;
        upper.push(value);
      }
      const lower = map.place(upper);
      return lower && bound(follow, map, lower);
    }
    /** Where a point leads for each value of the axes that it lacks. */
    #near(follow, point) {
      const missing = Object.entries(follow.over).filter(([axis]) => !point.has(axis));
      if (!missing.length) return [];
      let tried = [new Map(point)];
      for (const [axis, values] of missing) {
        tried = tried.flatMap((one) => values.map((value) => new Map(one).set(axis, value)));
      }
      return tried.flatMap((one) => {
        const place2 = this.#place(follow, one);
        return place2 ? [new Map([...one, ...place2])] : [];
      });
    }
    /** What a part that is pointed at leaves open is as in the kept point, or the first: the plane of an array, the tile, the step. */
    placed(given, kept) {
      const known = this.completed(kept).point;
      const point = new Map(given);
      for (const axes of this.#arrays) {
        if (!axes.some((axis) => given.has(axis))) continue;
        for (const axis of axes) if (!point.has(axis)) point.set(axis, known.get(axis) ?? 0);
      }
      const reached = this.completed(point).point;
      for (const [inside2, of] of this.#filled) {
        if (reached.has(inside2) && !reached.has(of)) point.set(of, known.get(of) ?? 0);
      }
      return point;
    }
  };
  function bound(follow, map, lower) {
    return map.lower.flatMap((dim, i) => {
      const axis = follow.to[dim];
      return axis === void 0 ? [] : [[axis, lower[i]]];
    });
  }

  // src/frames.ts
  var FRAME_MS = 700;
  var Stepper = class {
    axis;
    #frames;
    #slider = document.createElement("input");
    #said = document.createElement("output");
    #play;
    #go;
    #parts;
    #timer;
    constructor(place2, frames, go) {
      this.axis = frames.axis;
      this.#frames = frames;
      this.#go = go;
      const drawn = place2.closest("[data-study]").querySelectorAll("svg :is([data-is], [data-when])");
      this.#parts = [...drawn].flatMap((element) => {
        const said = `${element.getAttribute("data-when") ?? ""} ${element.getAttribute("data-is") ?? ""}`;
        const when = tokens(said).find((one) => one.axis === frames.axis);
        return when ? [{ element, first: Number(when.low), last: Number(when.high) }] : [];
      });
      Object.assign(this.#slider, { type: "range", min: "0", max: String(frames.count - 1), value: "0" });
      this.#slider.setAttribute("aria-label", `${frames.axis}, ${frames.count} steps`);
      this.#slider.addEventListener("input", () => this.#to(this.#slider.valueAsNumber));
      this.#play = button("Play", () => this.toggle());
      place2.append(
        button("Back", () => this.step(-1)),
        this.#play,
        button("Step", () => this.step(1)),
        this.#slider,
        this.#said
      );
      this.#tell(void 0);
    }
    /** The frames away from the one that is shown; the last is the end. */
    step(by) {
      this.stop();
      this.#to(this.#slider.valueAsNumber + by);
    }
    toggle() {
      if (this.#timer !== void 0) return this.stop();
      if (this.#slider.valueAsNumber >= this.#frames.count - 1) this.#to(0);
      this.#play.textContent = "Pause";
      this.#timer = window.setInterval(() => {
        this.#to(this.#slider.valueAsNumber + 1);
        if (this.#slider.valueAsNumber >= this.#frames.count - 1) this.stop();
      }, FRAME_MS);
    }
    stop() {
      window.clearInterval(this.#timer);
      this.#timer = void 0;
      this.#play.textContent = "Play";
    }
    /** The frame that the point is, and the one that was stepped to, before and after which parts are fainter. */
    show(value, stepped) {
      if (value !== void 0) this.#slider.value = String(value);
      this.#tell(value);
      for (const { element, first, last } of this.#parts) {
        element.classList.toggle("past", stepped !== void 0 && last < stepped);
        element.classList.toggle("later", stepped !== void 0 && stepped < first);
      }
    }
    #tell(value) {
      const said = value === void 0 ? "" : this.#frames.said[value] ?? "";
      this.#said.textContent = value === void 0 ? `${this.#frames.count} steps` : `${value}: ${said}`;
    }
    #to(value) {
      this.#go(this.axis, Math.min(Math.max(value, 0), this.#frames.count - 1));
    }
  };
  function button(text, does) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", does);
    return made;
  }

  // src/keys.ts
  var ARROWS = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1]
  };
  var ACROSS = 3;
  var Cursor = class {
    #drawing;
    #at;
    constructor(drawing) {
      this.#drawing = drawing;
    }
    /** The point that a key leads to from `now`; undefined where it is no key of this. */
    moved(key, now) {
      const parts = [...this.#drawing.querySelectorAll("[data-is], .field")].filter((part2) => part2.getClientRects().length);
      if (!parts.length) return void 0;
      const arrow = ARROWS[key];
      const page2 = { PageDown: 1, PageUp: -1 }[key];
      if (arrow === void 0 && page2 === void 0) return void 0;
      const at = this.#at && parts.includes(this.#at) ? this.#at : void 0;
      if (!at) this.#at = parts[0];
      else if (page2 !== void 0) this.#at = parts[(parts.indexOf(at) + page2 + parts.length) % parts.length];
      else if (at.matches(".field")) return new Field(at).beside(now, ...arrow);
      else this.#at = nearest(at, parts, arrow) ?? at;
      this.#at.scrollIntoView({ block: "nearest", inline: "nearest" });
      return pointed(this.#at, now);
    }
  };
  function pointed(part2, now) {
    if (part2.matches(".field")) return new Field(part2).beside(now, 0, 0);
    return pointOf(tokens(part2.getAttribute("data-is")));
  }
  function nearest(from, parts, [down, right]) {
    const [x, y] = middle(from);
    let found;
    let least = Infinity;
    for (const part2 of parts) {
      const [px, py] = middle(part2);
      const along = (py - y) * down + (px - x) * right;
      const across = Math.abs(py - y) * Math.abs(right) + Math.abs(px - x) * Math.abs(down);
      if (along > 0.5 && along + ACROSS * across < least) [found, least] = [part2, along + ACROSS * across];
    }
    return found;
  }
  function middle(part2) {
    const box = part2.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  }

  // src/ladder.ts
  var Ladder = class {
    #name;
    #inputs;
    #rungs;
    #guards;
    #address;
    #follower;
    /** keep: what to do with a point that was typed. */
    constructor(element, follower, keep) {
      this.#name = element.dataset["map"];
      this.#follower = follower;
      this.#inputs = [...element.querySelectorAll(".rung input")];
      this.#rungs = [...element.querySelectorAll(".rung")].map((rung) => [...rung.querySelectorAll("output")]);
      this.#guards = [...element.querySelectorAll("[data-guard]")];
      this.#address = element.querySelector(".address output");
      for (const input of this.#inputs) {
        input.disabled = false;
        input.addEventListener("change", () => keep(this.#typed()));
      }
    }
    #typed() {
      const upper = this.#follower.maps.get(this.#name).upper;
      return new Map(
        upper.map((dim, i) => {
          const value = Math.trunc(this.#inputs[i].valueAsNumber || 0);
          return [this.#follower.axis(this.#name, dim.name), Math.min(Math.max(value, 0), dim.size - 1)];
        })
      );
    }
    /** What the point does not give is 0, and shown as such. */
    show(point) {
      const map = this.#follower.maps.get(this.#name);
      const given = this.#follower.upper(this.#name, point);
      const values = map.values(given.map((value) => value ?? 0));
      this.#inputs.forEach((input, i) => {
        if (input !== document.activeElement) input.value = String(values.rungs[0][i]);
        input.classList.toggle("assumed", given[i] === void 0);
      });
      this.#rungs.forEach((outputs, i) => {
        if (i) outputs.forEach((output, j) => output.textContent = String(values.rungs[i][j]));
      });
      this.#guards.forEach((guard, i) => {
        const { value, holds } = values.guards[i];
        guard.className = holds ? "holds" : "fails";
        guard.querySelector("output").textContent = holds ? `${value}: holds` : `${value}: fails`;
      });
      this.#address.textContent = values.exists ? String(values.address) : "nothing: a guard fails";
    }
  };

  // src/lights.ts
  var MOST_OUTLINES = 256;
  var Lights = class {
    #kinds = /* @__PURE__ */ new Map();
    #fields;
    #lit = /* @__PURE__ */ new Set();
    #near = /* @__PURE__ */ new Set();
    #outlines = [];
    #shown = "";
    /** parts: the places of the page that are about this study. */
    constructor(parts) {
      const within = (selector) => parts.flatMap((part2) => [...part2.querySelectorAll(selector)]);
      this.#fields = within(".field").map((element) => new Field(element));
      for (const element of within("[data-is]:not(.field)")) this.#enter(element);
    }
    #enter(element) {
      const named = tokens(element.getAttribute("data-is"));
      const axes = named.map((one) => one.axis);
      const key = axes.join(" ");
      let kind = this.#kinds.get(key);
      if (!kind) this.#kinds.set(key, kind = { axes, exact: /* @__PURE__ */ new Map(), ranged: [] });
      if (named.some((one) => one.low !== one.high)) {
        kind.ranged.push({ element, tokens: named });
        return;
      }
      const choices = named.map((one) => [one.low, ...one.others]);
      const each = choices.reduce((found, values) => found.flatMap((text) => values.map((value) => `${text} ${value}`)), [""]);
      for (const values of each) {
        const same = kind.exact.get(values);
        if (same) same.push(element);
        else kind.exact.set(values, [element]);
      }
    }
    /** Everything that a point is. */
    #matching(point, found) {
      for (const { axes, exact, ranged } of this.#kinds.values()) {
        if (!axes.length || !axes.every((axis) => point.has(axis))) continue;
        for (const element of exact.get(axes.map((axis) => ` ${point.get(axis)}`).join("")) ?? []) found.add(element);
        for (const part2 of ranged) if (part2.tokens.every((one) => has(point, one))) found.add(part2.element);
      }
    }
    /** Light up a point; near: places around it. */
    show(point, near) {
      const shown = [point, ...near].map(textOf).join("\n");
      if (shown === this.#shown) return;
      this.#shown = shown;
      const lit = /* @__PURE__ */ new Set();
      const around = /* @__PURE__ */ new Set();
      this.#matching(point, lit);
      for (const place2 of near) this.#matching(place2, around);
      for (const element of lit) around.delete(element);
      this.#lit = changed("lit", this.#lit, lit);
      this.#near = changed("near", this.#near, around);
      this.#outline([...lit, ...around]);
      for (const field of this.#fields) field.mark(point, near);
    }
    /** Boxes are outlined once more above their neighbours, which would hide half of the edge. */
    #outline(boxes) {
      for (const old of this.#outlines) old.remove();
      this.#outlines = boxes.filter((box) => box instanceof SVGRectElement).slice(0, MOST_OUTLINES).map(outlined);
    }
  };
  function changed(name, before, now) {
    for (const element of before) if (!now.has(element)) element.classList.remove(name);
    for (const element of now) if (!before.has(element)) element.classList.add(name);
    return now;
  }

  // src/study.ts
  function studiesOf(page2) {
    const text = page2.querySelector("#studies")?.textContent;
    return text ? JSON.parse(text) : [];
  }

  // src/variants.ts
  function variants(panel, chosen, tell) {
    const drawings = [...panel.querySelectorAll("[data-variant]")];
    if (drawings.length < 2) return;
    const names = [...new Set(drawings.map((drawing) => drawing.dataset["variant"]))];
    const show = (name) => drawings.forEach((drawing) => drawing.hidden = drawing.dataset["variant"] !== name);
    const set = document.createElement("fieldset");
    set.className = "variants";
    set.append(Object.assign(document.createElement("legend"), { textContent: "Drawn" }));
    const first = chosen !== null && names.includes(chosen) ? chosen : names[0];
    for (const name of names) {
      const input = Object.assign(document.createElement("input"), { type: "radio", name: `${panel.id}-drawn`, checked: name === first });
      input.addEventListener("change", () => {
        show(name);
        tell(name);
      });
      const label = document.createElement("label");
      label.append(input, ` ${name}`);
      set.append(label);
    }
    panel.querySelector(".columns").before(set);
    show(first);
  }

  // src/explorer.ts
  var Column = class {
    follower;
    #lights;
    #ladders;
    #told;
    constructor(page2, number, study, keep) {
      const parts = [...page2.querySelectorAll(`[data-study="${number}"]`)];
      const within = (selector) => parts.flatMap((part2) => [...part2.querySelectorAll(selector)]);
      this.follower = new Follower(study);
      this.#lights = new Lights(parts);
      this.#ladders = within(".ladder").map((element) => new Ladder(element, this.follower, keep));
      this.#told = page2.querySelector(`[data-told="${number}"]`);
    }
    show(given) {
      const { point, near } = this.follower.completed(given);
      this.#lights.show(point, near);
      for (const ladder of this.#ladders) ladder.show(point);
      if (this.#told) this.#told.textContent = told(point) + (near.length ? `; ${near.length} places around it` : "");
      return point;
    }
  };
  var Explorer = class {
    #page;
    #columns;
    #steppers;
    #variants;
    #ends = new AbortController();
    #kept;
    #hovered;
    #isByKey = false;
    #pointer = "";
    constructor(page2) {
      this.#page = page2;
      const studies = studiesOf(page2);
      const state = stateOf(location.hash);
      this.#kept = state.at;
      this.#variants = state.variants;
      this.#columns = studies.map((study, number) => new Column(page2, number, study, (point) => this.keep(point)));
      this.#steppers = [...page2.querySelectorAll("[data-frames]")].flatMap((place2) => {
        const frames = studies[Number(place2.dataset["of"])]?.panels.find((panel) => panel.name === place2.dataset["frames"]);
        return frames?.frames ? [new Stepper(place2, frames.frames, (axis, value) => this.#step(axis, value))] : [];
      });
      for (const panel of page2.querySelectorAll("[data-panel]")) {
        const name = panel.dataset["panel"];
        variants(panel, this.#variants.get(name) ?? null, (chosen) => {
          this.#variants.set(name, chosen);
          this.#remember();
        });
      }
      this.#listen();
      this.show();
    }
    /** Take the listeners away: the page's contents have been replaced. */
    end() {
      this.#ends.abort();
      for (const stepper of this.#steppers) stepper.stop();
    }
    get kept() {
      return this.#kept;
    }
    /** The values of all axes at a point, in one study. */
    completed(given, study = 0) {
      return this.#columns[study].follower.completed(given).point;
    }
    /** A map's values at coordinates of its first rung. */
    values(map, upper, study = 0) {
      return this.#columns[study].follower.maps.get(map).values(upper);
    }
    keep(point) {
      this.#kept = new Map(point);
      this.#hovered = void 0;
      this.#remember();
      this.show();
    }
    show() {
      const given = this.#hovered ?? this.#kept;
      const points = this.#columns.map((column) => column.show(given));
      for (const stepper of this.#steppers) {
        const [value, stepped] = [points[0]?.get(stepper.axis), this.#kept.get(stepper.axis)];
        stepper.show(typeof value === "number" ? value : void 0, typeof stepped === "number" ? stepped : void 0);
      }
    }
    /** A frame stays with what was kept, unless that says something else of the frame's axis. */
    #step(axis, value) {
      const rest = new Map(this.#kept);
      rest.delete(axis);
      const says = this.#columns.some((column) => column.follower.completed(rest).point.has(axis));
      this.keep(new Map([...says ? [] : rest, [axis, value]]));
    }
    /** What a pointer or a key points at.  Frames stay. */
    #hover(point) {
      if (point === this.#hovered || point && this.#hovered && textOf(point) === textOf(this.#hovered)) return;
      this.#hovered = point;
      this.show();
    }
    /** Where a key has pointed, a page that scrolls below a pointer at rest points at nothing else. */
    #hasMoved(event) {
      const now = `${event.clientX} ${event.clientY}`;
      if (this.#isByKey && now === this.#pointer) return false;
      this.#pointer = now;
      this.#isByKey = false;
      return true;
    }
    #remember() {
      const wanted = hashOf(this.#kept, this.#variants);
      if (wanted !== location.hash) history.replaceState(null, "", wanted || location.pathname + location.search);
    }
    #pointed(event) {
      const part2 = event.target.closest("[data-is], .field");
      if (!part2) return void 0;
      if (part2.matches(".field")) return new Field(part2).at(event.clientX, event.clientY);
      return pointOf(tokens(part2.getAttribute("data-is")));
    }
    #listen() {
      const listen = { signal: this.#ends.signal };
      const withFrames = (point) => {
        const first = this.#columns[0]?.follower;
        if (!point || !first) return point;
        const placed = first.placed(point, this.#kept);
        const { point: known } = first.completed(placed);
        const steps = this.#steppers.map((stepper) => stepper.axis).filter((axis) => this.#kept.has(axis) && !known.has(axis));
        return new Map([...steps.map((axis) => [axis, this.#kept.get(axis)]), ...placed]);
      };
      this.#page.addEventListener("pointermove", (event) => {
        if (!this.#hasMoved(event)) return;
        this.#hover(withFrames(this.#pointed(event)));
      }, listen);
      this.#page.addEventListener("pointerleave", () => this.#hover(void 0), listen);
      this.#page.addEventListener("click", (event) => {
        const point = withFrames(this.#pointed(event));
        if (point) this.keep(point);
      }, listen);
      for (const drawing of this.#page.querySelectorAll(".drawing")) {
        const cursor = new Cursor(drawing);
        drawing.addEventListener("keydown", (event) => {
          const now = this.#hovered ?? this.#kept;
          const to = event.key === "Enter" ? new Map(now) : cursor.moved(event.key, now);
          if (!to) return;
          event.preventDefault();
          if (event.key === "Enter") this.keep(to);
          else {
            this.#isByKey = true;
            this.#hover(withFrames(to));
          }
        }, listen);
        drawing.addEventListener("blur", () => this.#hover(void 0), listen);
      }
      for (const link of this.#page.querySelectorAll("nav a")) {
        link.addEventListener("click", (event) => {
          event.preventDefault();
          document.querySelector(link.hash)?.scrollIntoView();
        }, listen);
      }
      window.addEventListener("hashchange", () => {
        this.#kept = stateOf(location.hash).at;
        this.show();
      }, listen);
      document.addEventListener("keydown", (event) => {
        if (event.key === "Escape") this.keep(/* @__PURE__ */ new Map());
      }, listen);
    }
  };
  function told(point) {
    return [...point].map(([axis, value]) => `${axis} ${value}`).join(", ") || "nothing is pointed at";
  }

  // src/main.ts
  function theme() {
    const choice = document.querySelector("#theme");
    choice?.addEventListener("change", () => {
      if (choice.value === "auto") delete document.documentElement.dataset["theme"];
      else document.documentElement.dataset["theme"] = choice.value;
    });
  }
  function jumps() {
    document.addEventListener("keydown", (event) => {
      if (event.target.closest("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
      const by = { "]": 1, "[": -1 }[event.key];
      if (by === void 0) return;
      const panels = [...document.querySelectorAll("main section[id]")];
      const now = panels.findLastIndex((panel) => panel.getBoundingClientRect().top < 80);
      panels[Math.min(Math.max(now + by, 0), panels.length - 1)]?.scrollIntoView();
    });
  }
  function prints() {
    window.addEventListener("beforeprint", () => {
      for (const folded of document.querySelectorAll("details:not(.text)")) folded.open = true;
    });
  }
  var page = document.querySelector("main");
  var start = () => {
    window.imbrex?.end();
    window.imbrex = new Explorer(page);
  };
  document.documentElement.classList.add("linked");
  start();
  theme();
  jumps();
  prints();
  edit(page, start);
})();
