// A training run that plays: its time moves on while a button is pressed.

const WHOLE_RUN = 16; // seconds

/**
 * Make a button play and pause a run.
 * @param {HTMLButtonElement} button
 * @param {{ end: number, now: () => number, show: (time: number) => void, ended?: () => void }} run
 */
export function player(button, { end, now, show, ended }) {
  /** @type {{ stamp: number, time: number } | null} while playing, the last frame, which no slider rounds */
  let playing = null;

  function stop() {
    playing = null;
    button.textContent = "▶ Play";
  }

  /** @param {number} stamp */
  function frame(stamp) {
    if (!playing) return;
    const passed = Math.max(0, stamp - playing.stamp) / 1000;
    const time = Math.min(end, playing.time + (passed / WHOLE_RUN) * end);
    playing = { stamp, time };
    show(time);
    if (time < end) requestAnimationFrame(frame);
    else {
      stop();
      ended?.();
    }
  }

  button.addEventListener("click", () => {
    if (playing) return stop();
    playing = { stamp: performance.now(), time: now() >= end ? 0 : now() };
    button.textContent = "❚❚ Pause";
    requestAnimationFrame(frame);
  });
  return { stop, isPlaying: () => playing !== null };
}
