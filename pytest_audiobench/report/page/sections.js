  // The parts of the page under their headings. What is folded is drawn when it is first open.
  function section(id, title, draw, { folded = false, open = false, about = "" } = {}) {
    const head = el("h2", { id: `${id}-title` }, title);
    const box = el("section", { id, "aria-labelledby": `${id}-title`, tabindex: "-1" });
    byId("main").append(box);
    if (!folded) {
      box.append(head);
      draw(box);
      return;
    }
    const body = el("div", { class: "body" });
    const fold = el("details", { class: "fold", open }, el("summary", {}, head, about ? el("span", { class: "small soft" }, about) : null), body);
    box.append(fold);
    whenOpen(fold, () => { draw(body); return []; });
  }

  // Opens whatever is folded around a part of the page, now and not when the browser gets to it.
  function openNow(box) {
    box.open = true;
    box.dispatchEvent(new Event("toggle"));
  }

  function reveal(part) {
    for (let fold = part && (part.closest("details") || part.querySelector(":scope > details.fold")); fold; fold = fold.parentElement.closest("details")) openNow(fold);
  }

  function revealAddress() {
    const part = location.hash.length > 1 && !location.hash.includes("=") ? byId(decodeURIComponent(location.hash.slice(1))) : null;
    if (!part) return;
    reveal(part);
    part.scrollIntoView();
  }

  window.addEventListener("hashchange", revealAddress);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.hash.length > 1 && !link.hash.includes("=")) reveal(byId(decodeURIComponent(link.hash.slice(1))));
  });

  // Paper has what was measured, why there are alarms, the first confusion matrix, and of the other parts those that are open; the page is as it was afterwards.
  const ON_PAPER = "#facts, #heading > details.banner, #labels > details.fold";
  let unfolded = [];
  window.addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll(ON_PAPER)].filter((box) => !box.open);
    unfolded.forEach(openNow);
  });
  window.addEventListener("afterprint", () => { for (const box of unfolded) box.open = false; });

  // Every level of every part: what is filled when it is opened may hold boxes of its own. Samples and menus stay as they are.
  const LEVELS = "main > section:not(#samples) details:not(.menu), details.banner";
  function openLevels() {
    for (let closed; (closed = [...document.querySelectorAll(LEVELS)].filter((box) => !box.open)).length;) {
      closed.forEach(openNow);
    }
  }

  function drawContents() {
    const all = el("button", { type: "button", class: "expand" }, "Open all");
    all.addEventListener("click", () => {
      const isOpen = all.textContent !== "Open all";
      if (isOpen) for (const box of document.querySelectorAll(LEVELS)) box.open = false;
      else openLevels();
      all.textContent = isOpen ? "Open all" : "Close all";
    });
    // The results stand just below.
    const parts = [...document.querySelectorAll("main > section:not([hidden], #results)")];
    const isFolded = (one) => one && one.id !== "changes" && one.querySelector(":scope > details.fold:not([open])");
    // Those that are folded stand below each other anyhow: the first of them is enough.
    const links = parts.filter((one, number) => !isFolded(one) || !isFolded(parts[number - 1]))
      .map((one) => el("li", {}, el("a", { href: `#${one.id}` }, isFolded(one) ? "All numbers" : one.querySelector("h2").textContent)));
    byId("contents").append(el("ul", {}, links, parts.some(isFolded) ? el("li", {}, all) : null));
  }

