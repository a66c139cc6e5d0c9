  byId("heading").append(themeButton(), el("p", { class: "back" }, el("a", { href: "/" }, "All runs")), el("h1", {}, "This cannot be shown"));
  byId("work").append(el("p", { class: "banner warn", role: "alert" }, data.error));
