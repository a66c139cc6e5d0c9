  // What stands where: the sections that this run has, in the page's order.
  function drawContents() {
    const sections = [...document.querySelectorAll("main > section:not([hidden])")];
    byId("contents").append(el("ul", {}, sections.map((one) => el("li", {}, el("a", { href: `#${one.id}` }, one.querySelector("h2").textContent)))));
  }

  drawHeading();
  drawChanges();
  drawAverages();
  drawVerdicts();
  drawScores();
  drawGrids();
  drawComparisons();
  drawPerturbations();
  drawFlips();
  drawNoise();
  drawFindings();
  drawPublished();
  drawSuites();
  drawGroups("groups", data.evals, true);
  drawColumns();
  drawEvents();
  drawLabels();
  drawScorers();
  drawFailures();
  drawTroubles();
  drawDetails();
  drawSamples();
  drawContents();
  byId("footer").append("Written by pytest-audiobench. Beside this page: run.json (the record) and ", data.files.join(", "), " (every sample).");
  if (data.answers) byId("footer").append(el("p", { id: "answers" }, visible(data.answers)));
