interface Box {
  top: number;
  bottom: number;
  left: number;
  right: number;
}

/** The part of an element's box that is shown: not scrolled away, in the window and in its page. */
function shown(element: Element): { part: number; box: Box } {
  const box = element.getBoundingClientRect();
  const page = element.closest('main')?.getBoundingClientRect();
  const top = Math.max(box.top, 0, page?.top ?? 0);
  const bottom = Math.min(box.bottom, innerHeight, page?.bottom ?? innerHeight);
  const left = Math.max(box.left, 0, page?.left ?? 0);
  const right = Math.min(box.right, innerWidth, page?.right ?? innerWidth);
  const area = box.width * box.height;
  return { part: area > 0 ? (Math.max(bottom - top, 0) * Math.max(right - left, 0)) / area : 0, box };
}

/**
 * Whether a person sees a question: nine tenths of its card, or of a card that is taller than its page the question and
 * the buttons. What the window does not show is not asked.
 */
export function isInView(card: Element): boolean {
  if (shown(card).part >= 0.9) return true;
  const parts = [card.querySelector('[data-question]'), card.querySelector('[data-answers]')];
  return parts.every((part) => part !== null && shown(part).part >= 0.99);
}
