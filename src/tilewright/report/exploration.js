"use strict";
// The figures of an exploration show the same designs: kept by ranges, by a box, or by a click.
(() => {
  const front = document.getElementById("front");
  const parallel = document.getElementById("parallel");
  const area = document.getElementById("area");
  const areas = JSON.parse(document.getElementById("areas").textContent);
  const numbers = front.data[0].customdata;
  const colours = parallel.data[0].line.color;
  const scale = parallel.data[0].line.colorscale;

  let own = false; // whether the parallel axes are told of something, not touched

  function show(number) {
    const parts = areas[number];
    Plotly.restyle(area, {
      labels: [Object.keys(parts)],
      values: [Object.values(parts)],
      parents: [Object.keys(parts).map(() => "")],
    });
    document.getElementById("shown").textContent = `design ${number}`;
  }

  function say(count) {
    const text = count === null ? "" : `${count} of ${numbers.length} designs kept.`;
    document.getElementById("kept").textContent = text;
  }

  // ranges of the parallel axes, each of them one range, several, or none
  function inside(value, ranges) {
    if (!ranges || !ranges.length) return true;
    const all = Array.isArray(ranges[0]) ? ranges : [ranges];
    return all.some(([low, high]) => low <= value && value <= high);
  }

  parallel.on("plotly_restyle", () => {
    if (own) return;
    const dimensions = parallel.data[0].dimensions;
    const some = dimensions.some((each) => (each.constraintrange || []).length);
    const kept = numbers
      .map((_, i) => i)
      .filter((i) => dimensions.every((each) => inside(each.values[i], each.constraintrange)));
    Plotly.restyle(front, { selectedpoints: [some ? kept : null] }, [0]);
    say(some ? kept.length : null);
  });

  front.on("plotly_selected", (event) => {
    const kept = event && event.points ? new Set(event.points.map((each) => each.pointIndex)) : null;
    const line = kept
      ? { "line.color": [numbers.map((_, i) => (kept.has(i) ? 1 : 0))],
          "line.colorscale": [[[0, "#d8d8d8"], [1, "#1f5fbf"]]] }
      : { "line.color": [colours], "line.colorscale": [scale] };
    own = true;
    Plotly.restyle(parallel, line, [0]).then(() => { own = false; });
    say(kept ? kept.size : null);
  });

  front.on("plotly_click", (event) => {
    const number = event.points[0].customdata;
    show(number);
    const section = document.getElementById(`design-${number}`);
    section.open = true;
    section.scrollIntoView({ behavior: "smooth" });
  });

  for (const section of document.querySelectorAll("details[id^=design-]")) {
    section.addEventListener("toggle", () => {
      if (section.open) show(section.id.slice("design-".length));
    });
  }
})();
