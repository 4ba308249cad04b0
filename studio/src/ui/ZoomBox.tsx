// A zoomable, scrollable box. Zoom with the buttons, with `+`, `-`, `0`, or with Ctrl and the mouse
// wheel.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { t } from '../i18n';
import { fitting, type Size } from './fit';

interface Props {
  width: number;
  height: number;
  label: string;
  children: ComponentChildren;
}

const STEP = 1.25;
const LEAST = 0.15;
/** Smallest zoom at which names are readable; the initial zoom of a wide picture. */
const READABLE = 0.6;
const MOST = 3;
/** Space that the frame of the box takes. */
const EDGE = 4;

/** The space for a picture in its box, which grows up to its maximum height. */
function roomOf(box: HTMLElement): Size {
  const height = parseFloat(getComputedStyle(box).maxHeight);
  return { width: box.clientWidth - EDGE, height: (Number.isNaN(height) ? Infinity : height) - EDGE };
}

export function ZoomBox({ width, height, label, children }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState(1);
  const fit = (least: number): void => {
    const element = box.current;
    if (!element || width === 0) return;
    setZoom(fitting({ width, height }, roomOf(element), least));
  };
  useEffect(() => fit(READABLE), [width > 0]);
  const by = (factor: number): void => setZoom((before) => Math.max(LEAST, Math.min(MOST, before * factor)));
  useEffect(() => {
    const element = box.current;
    const onWheel = (event: WheelEvent): void => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      by(event.deltaY < 0 ? STEP : 1 / STEP);
    };
    element?.addEventListener('wheel', onWheel, { passive: false });
    return () => element?.removeEventListener('wheel', onWheel);
  }, []);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target !== box.current) return;
    if (event.key === '+' || event.key === '=') by(STEP);
    else if (event.key === '-') by(1 / STEP);
    else if (event.key === '0') fit(LEAST);
    else return;
    event.preventDefault();
  };
  return (
    <div class="zoom">
      <div class="zoom-tools row" role="group" aria-label={t().zoom.label}>
        <button type="button" aria-label={t().zoom.out} onClick={() => by(1 / STEP)}>
          −
        </button>
        <span class="small soft zoom-figure">{Math.round(zoom * 100)}%</span>
        <button type="button" aria-label={t().zoom.in} onClick={() => by(STEP)}>
          +
        </button>
        <button type="button" onClick={() => fit(LEAST)}>
          {t().zoom.fit}
        </button>
      </div>
      {/* A scrollable element must be reachable by keyboard. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex, jsx-a11y/no-noninteractive-element-interactions */}
      <div class="zoom-box" ref={box} role="group" aria-label={label} tabIndex={0} onKeyDown={onKeyDown}>
        <div style={{ width: `${width * zoom}px`, height: `${height * zoom}px` }}>
          <div
            class="zoom-inner"
            style={{ transform: `scale(${zoom})`, width: `${width}px`, height: `${height}px` }}
          >
            {children}
          </div>
        </div>
      </div>
    </div>
  );
}
