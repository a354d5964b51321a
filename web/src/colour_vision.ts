// How far apart two colours are to the eye, also to one that lacks a kind of cone. Pure; the tests of the page's colours use it.
import type { Rgb } from './atlas.js';

type Matrix = readonly [Rgb, Rgb, Rgb];

// Machado, Oliveira and Fernandes 2009, severity 1, in linear RGB.
const kLacking = {
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
} as const satisfies Record<string, Matrix>;
// sRGB to XYZ under D65.
const kXyz: Matrix = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]];
const kWhite: Rgb = [0.95047, 1, 1.08883];

export const kEyes = ['usual', 'protanopia', 'deuteranopia', 'tritanopia'] as const;
export type Eye = (typeof kEyes)[number];

const apply = (m: Matrix, v: Rgb): Rgb => {
  const row = (r: Rgb) => r[0] * v[0] + r[1] * v[1] + r[2] * v[2];
  return [row(m[0]), row(m[1]), row(m[2])];
};
const linear = (c: number): number => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const clamp = (c: number): number => Math.max(0, Math.min(1, c));

// Linear RGB, 0 to 1, as that eye has it.
function seen(rgb: Rgb, eye: Eye): Rgb {
  const light: Rgb = [linear(rgb[0] / 255), linear(rgb[1] / 255), linear(rgb[2] / 255)];
  if (eye === 'usual') return light;
  const [r, g, b] = apply(kLacking[eye], light);
  return [clamp(r), clamp(g), clamp(b)];
}

export interface Lab {
  l: number;
  a: number;
  b: number;
}

export function lab_of(rgb: Rgb, eye: Eye = 'usual'): Lab {
  const xyz = apply(kXyz, seen(rgb, eye));
  const f = (t: number) => (t > 216 / 24389 ? Math.cbrt(t) : ((24389 / 27) * t + 16) / 116);
  const [x, y, z] = [f(xyz[0] / kWhite[0]), f(xyz[1] / kWhite[1]), f(xyz[2] / kWhite[2])];
  return { l: 116 * y - 16, a: 500 * (x - y), b: 200 * (y - z) };
}

const kRadian = Math.PI / 180;
const kFar = 25 ** 7;
const bent = (c: number): number => Math.sqrt(c ** 7 / (c ** 7 + kFar));
const hue_of = (a: number, b: number): number => (a === 0 && b === 0 ? 0 : (Math.atan2(b, a) / kRadian + 360) % 360);

// By how much hue differs, -180 to 180, and what lies between; without colour on either side there is no hue to differ.
function hues(h1: number, h2: number, grey: boolean): { between: number; mean: number } {
  if (grey) return { between: 0, mean: h1 + h2 };
  const plain = h2 - h1;
  const between = Math.abs(plain) <= 180 ? plain : plain > 180 ? plain - 360 : plain + 360;
  if (Math.abs(plain) <= 180) return { between, mean: (h1 + h2) / 2 };
  return { between, mean: h1 + h2 < 360 ? (h1 + h2 + 360) / 2 : (h1 + h2 - 360) / 2 };
}

// CIEDE2000 as Sharma, Wu and Dalal 2005 write it down; their pairs are its test. About 2 can just be told apart side by side.
export function ciede2000(one: Lab, two: Lab): number {
  const stretch = 1 + 0.5 * (1 - bent((Math.hypot(one.a, one.b) + Math.hypot(two.a, two.b)) / 2));
  const [a1, a2] = [one.a * stretch, two.a * stretch];
  const [c1, c2] = [Math.hypot(a1, one.b), Math.hypot(a2, two.b)];
  const { between, mean: h } = hues(hue_of(a1, one.b), hue_of(a2, two.b), c1 * c2 === 0);
  const [l, c] = [(one.l + two.l) / 2, (c1 + c2) / 2];
  const big_h = 2 * Math.sqrt(c1 * c2) * Math.sin((between / 2) * kRadian);
  const cos = (degrees: number) => Math.cos(degrees * kRadian);
  const t = 1 - 0.17 * cos(h - 30) + 0.24 * cos(2 * h) + 0.32 * cos(3 * h + 6) - 0.2 * cos(4 * h - 63);
  const s_l = 1 + (0.015 * (l - 50) ** 2) / Math.sqrt(20 + (l - 50) ** 2);
  const [dl, dc, dh] = [(two.l - one.l) / s_l, (c2 - c1) / (1 + 0.045 * c), big_h / (1 + 0.015 * c * t)];
  const turn = -Math.sin(60 * kRadian * Math.exp(-(((h - 275) / 25) ** 2))) * 2 * bent(c);
  return Math.sqrt(dl ** 2 + dc ** 2 + dh ** 2 + turn * dc * dh);
}

// To the eye to which they are most alike.
export function least_difference(one: Rgb, two: Rgb): { difference: number; eye: Eye } {
  const all = kEyes.map((eye) => ({ eye, difference: ciede2000(lab_of(one, eye), lab_of(two, eye)) }));
  return all.reduce((least, next) => (next.difference < least.difference ? next : least));
}
