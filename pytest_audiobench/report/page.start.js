  drawHeading();
  drawVerdicts();
  drawSuites();
  drawSides();
  drawFailures();
  drawTroubles();
  drawDetails();
  drawSamples();
  byId("footer").append("Written by pytest-audiobench. Beside this page: run.json (the record) and ", data.files.join(", "), " (every sample).");
