// Commands to a network that is held: buttons and a line.
"use strict";

const actions = (kind, id) => {
  const holder = find("actions");
  holder.replaceChildren();
  holder.hidden = !(state.network && state.network.control && (kind === "port" || kind === "flow"));
  if (holder.hidden) return;
  const [node, port] = id.split(":"), link = kind === "port" && state.network.ports.find((sample) => sample.port === id);
  const pauses = state.network.scheme ? [["PAUSE for 1 ms", ["pause", node, port, "--for", "1ms"]], ["RESUME", ["resume", node, port]]] : [];
  const offered = kind === "flow" ? (state.network.scheme ? [["stop", ["flow", "stop", id]]] : []) : [
    ...pauses,
    ["link down", ["link", id, link.link.split("->")[1].split(":")[0], "down"]],
    ["link up", ["link", id, link.link.split("->")[1].split(":")[0], "up"]],
  ];
  for (const [text, words] of offered) {
    const button = element("button", text, { type: "button", title: `pcn ${words.join(" ")}` });
    button.addEventListener("click", () => command(words));
    holder.appendChild(button);
  }
};

const command = async (words) => {
  const print = (text) => {
    const last = state.frames[state.frames.length - 1];
    state.entries.push({ time_s: last ? last.time_s : 0, text });
    redraw();
  };
  print(`$ pcn ${words.join(" ")}`);
  try {
    const answer = await fetch("command", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(words) });
    for (const line of (await answer.text()).trimEnd().split("\n")) print(line);
  } catch {
    print("the command didn't reach pcn");
  }
};

find("command").addEventListener("submit", (event) => {
  event.preventDefault();
  const words = find("words").value.trim().split(/\s+/).filter(Boolean);
  if (words[0] === "pcn") words.shift();
  if (words.length) command(words);
});
