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

  // A spreadsheet takes a text that begins as a formula does for a text.
  function csvText(rows) {
    const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const cell = (value) => {
      const text = value === null || value === undefined ? "" : typeof value === "number" ? String(value) : String(value).replace(/^(?=\s*[=+@-])/, "'");
      return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return [names, ...rows.map((row) => names.map((name) => row[name]))].map((line) => `${line.map(cell).join(",")}\n`).join("");
  }

  // The drawings of a box below each other, with the colours that the page gives them now.
  const COLOURS_OF = ["fill", "stroke", "color"];
  function svgText(box) {
    const whole = svg("svg", { xmlns: "http://www.w3.org/2000/svg", "font-family": getComputedStyle(document.body).fontFamily });
    let [width, height] = [0, 0];
    for (const drawing of box.querySelectorAll(":scope > svg")) {
      const copy = drawing.cloneNode(true);
      const [from, to] = [drawing, copy].map((one) => [one, ...one.querySelectorAll("*")]);
      from.forEach((one, place) => {
        const look = getComputedStyle(one);
        for (const name of COLOURS_OF) if (/var\(|currentColor/.test(one.getAttribute(name) || "")) to[place].setAttribute(name, look[name]);
      });
      copy.setAttribute("y", height);
      copy.setAttribute("color", getComputedStyle(drawing).color);
      width = Math.max(width, drawing.width.baseVal.value);
      height += drawing.height.baseVal.value;
      whole.append(copy);
    }
    for (const [name, value] of [["width", width], ["height", height], ["viewBox", `0 0 ${width} ${height}`]]) whole.setAttribute(name, value);
    whole.prepend(svg("rect", { width, height, fill: getComputedStyle(document.body).backgroundColor }));
    return new XMLSerializer().serializeToString(whole);
  }

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

