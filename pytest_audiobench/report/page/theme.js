  // Light or dark: as the system has it, until a reader chooses otherwise. The choice is stored where a browser lets files store one.
  const THEMES = { "": "Theme: system", light: "Theme: light", dark: "Theme: dark" };

  function storedTheme(theme) {
    try {
      if (theme !== undefined) localStorage.setItem("audiobench-theme", theme);
      return localStorage.getItem("audiobench-theme") || "";
    } catch {
      return theme || "";
    }
  }

  function themeButton() {
    const button = el("button", { type: "button", class: "theme" });
    const wear = (theme) => {
      document.documentElement.dataset.theme = Object.hasOwn(THEMES, theme) ? theme : "";
      button.textContent = THEMES[document.documentElement.dataset.theme];
    };
    button.addEventListener("click", () => {
      const all = Object.keys(THEMES);
      const next = all[(all.indexOf(document.documentElement.dataset.theme) + 1) % all.length];
      storedTheme(next);
      wear(next);
      document.dispatchEvent(new Event("theme"));
    });
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new Event("theme")));
    wear(storedTheme());
    return button;
  }
