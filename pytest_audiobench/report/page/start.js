  const FOLDED = { folded: true };
  section("results", "Results", drawResults);
  if (hasFailed) section("failed", "What failed", drawFailed);
  if (data.changes) section("changes", "Compared with the baseline", drawChanges, { ...FOLDED, open: data.changes.lines.some((one) => one.tone !== "good"), about: data.changes.counts });
  const PARTS = [
    ["averages", "Averages", data.averages.length, drawAverages, "declared by suites"],
    ["verdicts", "Evals", true, drawVerdicts, "every score with interval, n, parse rate, checks, scorer"],
    ["scores", "Scores side by side", scoreEntries().length, drawScores, `a plot for each metric of several evals: ${listed([...new Set(scoreEntries().map((one) => one.metric))], 6)}`],
    ["suites", "Suites, pooled over their evals", data.suites.length, drawSuites, "each metric that several evals have, and by group"],
    ["groups", "By group", data.evals.some((one) => one.blocks.some((block) => block.groups.length)), (into) => drawGroups(into, "groups", data.evals, true), "scores by metadata field"],
    ["labels", "Confusion matrix", data.labels.length, drawLabels, "answers by true label"],
    ["failures", "Failure classes", data.evals.some((one) => one.failures.length), drawFailures, "refused, unparsed, loops, …; the score without each"],
    ["grid", "Perturbations by data set", data.grids.length, drawGrids, "a heat map"],
    ["comparison", "Comparison with the clean answers", data.comparisons.length, drawComparisons, "controls, injected speech, changed reasoning"],
    ["perturbations", "Under perturbations", SUMMARIES.length, drawPerturbations, "curves over doses, slopes, areas"],
    ["flips", "Smallest perturbations that change an answer", data.flips.length, drawFlips, "with the sounds"],
    ["noise", "Repeated under other conditions", data.noise.length, drawNoise, "batch size, dtype, kernel, padding"],
    ["findings", "Findings", data.findings.length, drawFindings, "parts of an eval that fail more often than the rest"],
    ["published", "Published values", data.published.length, drawPublished, "beside this run's"],
    ["columns", "Soundscapes: all columns", withColumns.length, drawColumns, "published columns and ours"],
    ["events", "Soundscapes: events by kind", data.events.length, drawEvents, "how many were found"],
    ["scorers", "Scorers side by side", compared.length, drawScorers, "the same answers by several rules"],
    ["troubles", "Errors and warnings", troubles().length, drawTroubles, `${count(troubles().length)} kind${troubles().length === 1 ? "" : "s"}`],
    ["details", "Methods, versions and hashes", true, drawDetails, "of the run, its models and each eval"],
  ];
  for (const [id, title, isThere, draw, about] of PARTS) if (isThere) section(id, title, draw, { ...FOLDED, about });
  section("samples", "Samples", drawSamples);
  drawHeading();
  drawContents();
  revealAddress();
  byId("footer").append("Written by pytest-audiobench. Beside this page: run.json (the record) and ", data.files.join(", "), " (every sample).");
  if (data.answers) byId("footer").append(el("p", { id: "answers" }, visible(data.answers)));
