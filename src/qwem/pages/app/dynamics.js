// The closed form of a training run, mode by mode (Lemma 3.4).

// s_k(t) = s_k(0) / (e^{−γt} + s_k²(0)(1 − e^{−γt})/λ)^½ with γ the rate of mode k.
export function singularValue(run, k, time) {
  const start = run.start[k];
  const decay = -run.rates[k] * time;
  const root = Math.sqrt(Math.abs(run.eigenvalues[k]));
  const learned = (start * Math.sqrt(-Math.expm1(decay))) / root;
  return start / Math.hypot(Math.exp(decay / 2), learned);
}

// The loss L/g = ¼ Σ_k (s_k⁴ − 2λ_k s_k²) of the first `dim` modes, which is zero for W = 0.
export function lossAt(run, time, dim) {
  let sum = 0;
  for (let k = 0; k < dim; k++) {
    const square = singularValue(run, k, time) ** 2;
    sum += square * (square - 2 * Math.abs(run.eigenvalues[k]));
  }
  return sum / 4;
}
