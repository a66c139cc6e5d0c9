  // What can be taken from the page as a file: numbers as CSV, drawings as SVG.
  const CSV_TYPE = "text/csv;charset=utf-8";

  function saveAs(name, type, text) {
    const link = el("a", { download: name });
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  function saveButton(label, save) {
    const button = el("button", { type: "button" }, label);
    button.addEventListener("click", save);
    return button;
  }

  const fileName = (name) => name.split(";")[0].replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60).toLowerCase() || "figure";

  // A number as any program reads it: without its unit, its thousands' commas and a typeset sign; other texts as they are.
  function plainNumber(text) {
    const found = /^([+−-]?)(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?: (?:%|pp))?$/.exec(text);
    return found ? `${found[1].replace(/[+−]/, (sign) => (sign === "+" ? "" : "-"))}${found[2].replaceAll(",", "")}${found[3] || ""}` : text;
  }

  // A spreadsheet takes a text that begins as a formula does for a text; a number is none.
  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
  function csvText(rows) {
    const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const cell = (value) => {
      const text = String(value ?? "").replace(/^(?=\s*[=+@-])/, NUMBER.test(value) ? "" : "'");
      return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return [names, ...rows.map((row) => names.map((name) => row[name]))].map((line) => `${line.map(cell).join(",")}\n`).join("");
  }

  // As any program reads it: the page's own are mixtures.
  const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  function plainColour(text) {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = text;
    pixel.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = pixel.getImageData(0, 0, 1, 1).data;
    return alpha ? `rgb(${red},${green},${blue})` : "none";
  }

  // A drawing breaks no line by itself.
  function brokenLines(text, style, width) {
    pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const lines = [""];
    for (const character of text) {
      if (character === "\n" || pen.measureText(lines.at(-1) + character).width > width) lines.push("");
      if (character !== "\n") lines.push(lines.pop() + character);
    }
    return lines.filter(Boolean);
  }

  // The cells of a table where they stand, with their grounds.
  function cellDrawings(cell, left, top) {
    const box = cell.getBoundingClientRect();
    const inner = cell.querySelector("span") || cell;
    const [style, own] = [getComputedStyle(cell), getComputedStyle(inner)];
    const [x, y, size] = [box.left - left, box.top - top, parseFloat(style.fontSize)];
    const text = { "font-size": size, "font-weight": style.fontWeight, fill: plainColour(style.color) };
    const ground = svg("rect", { x, y, width: box.width, height: box.height, fill: plainColour(style.backgroundColor) });
    if (own.writingMode.startsWith("vertical")) return [ground, svg("text", { ...text, transform: `translate(${x + box.width / 2 + size / 3} ${box.bottom - top - 4}) rotate(-90)` }, cell.textContent)];
    const isRight = ["right", "end"].includes(style.textAlign);
    return [ground, brokenLines(cell.innerText, style, box.width - 8).map((line, number) => svg("text", { ...text, x: isRight ? x + box.width - 6 : x + 6, y: y + size * (1.2 + 1.3 * number), "text-anchor": isRight ? "end" : null }, line))];
  }

  // What a box draws, its drawings and its tables, where it stands, with the colours that the page gives it now.
  const COLOURS_OF = ["fill", "stroke", "color"];
  const STYLES_OF = [...COLOURS_OF, "stroke-width", "stroke-dasharray", "stroke-opacity", "fill-opacity", "font-size", "font-weight"];
  function svgText(box) {
    const whole = svg("svg", { xmlns: "http://www.w3.org/2000/svg", "font-family": getComputedStyle(document.body).fontFamily });
    const { left, top } = box.getBoundingClientRect();
    const ends = (part) => [part.getBoundingClientRect().right - left, part.getBoundingClientRect().bottom - top];
    let [width, height] = [0, 0];
    const hold = (part) => { [width, height] = ends(part).map((end, place) => Math.ceil(Math.max(end, [width, height][place]))); };
    for (const one of box.querySelectorAll("table")) {
      for (const cell of one.querySelectorAll("th, td")) whole.append(...cellDrawings(cell, left, top).flat());
      hold(one);
    }
    for (const drawing of [...box.querySelectorAll("svg")].filter((one) => !one.parentElement.closest("svg"))) {
      // Of a timeline the page's style says how its parts look; plots say it themselves.
      const isStyled = drawing.closest(".timeline") !== null;
      const copy = drawing.cloneNode(true);
      const [from, to] = [drawing, copy].map((one) => [one, ...one.querySelectorAll("*")]);
      from.forEach((one, place) => {
        const look = getComputedStyle(one);
        for (const name of isStyled ? STYLES_OF : COLOURS_OF) if (isStyled || /var\(|currentColor/.test(one.getAttribute(name) || "")) to[place].setAttribute(name, look.getPropertyValue(name));
      });
      const place = drawing.getBoundingClientRect();
      for (const [name, value] of [["x", place.left - left], ["y", place.top - top], ["width", place.width], ["height", place.height]]) copy.setAttribute(name, value);
      copy.setAttribute("color", getComputedStyle(drawing).color);
      hold(drawing);
      whole.append(copy);
    }
    for (const [name, value] of [["width", width], ["height", height], ["viewBox", `0 0 ${width} ${height}`]]) whole.setAttribute(name, value);
    whole.prepend(svg("rect", { width, height, fill: getComputedStyle(document.body).backgroundColor }));
    return new XMLSerializer().serializeToString(whole);
  }

  // A table, or what else is no plot, with its menu above.
  const withSave = (name, numbers, box) => [el("div", { class: "saving" }, saveMenu(name, numbers, box)), box];

  // A small menu beside a figure's or a table's title.
  function saveMenu(name, numbers, box = null) {
    const way = (label, save) => saveButton(label, () => { save(); menu.open = false; });
    const menu = el("details", { class: "menu" }, el("summary", { "aria-label": `Save: ${name.split(";")[0]}` }, "Save"),
      el("div", {}, box ? way("SVG", () => saveAs(`${fileName(name)}.svg`, "image/svg+xml", svgText(box))) : null, way("CSV", () => saveAs(`${fileName(name)}.csv`, CSV_TYPE, csvText(numbers())))));
    menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !menu.open) return;
      menu.open = false;
      menu.querySelector("summary").focus();
    });
    return menu;
  }

