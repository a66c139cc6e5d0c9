  // Plots: drawn by the library that stands in a script of its own, in colours of the page.
