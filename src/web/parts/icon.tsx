/** Own drawings, 24 × 24, in the colour of the text. */
const paths = {
  plugins: 'M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM16.5 13v7M13 16.5h7',
  catalog: 'M4 8h16l-1.5 12h-13zM8 8a4 4 0 0 1 8 0',
  machines: 'M5 5h6v4H5zM13 15h6v4h-6zM8 9v4h8v2',
  history: 'M12 7v5l3 2M4.6 9A8 8 0 1 1 4 12M4 5v4h4',
  repositories: 'M4 6h6l2 2h8v11H4z',
  hosts: 'M4 5h16v6H4zM4 13h16v6H4zM7.5 8h.01M7.5 16h.01',
  system: 'M3 13h4l3-8 4 14 3-6h4',
  theme: 'M12 4v16a8 8 0 0 0 0-16a8 8 0 0 0 0 16',
  leave: 'M14 5H5v14h9M10 12h10M16 8l4 4-4 4',
  search: 'M10.5 4a6.5 6.5 0 1 1 0 13a6.5 6.5 0 0 1 0-13M15.5 15.5L20 20',
  previous: 'M15 5l-7 7 7 7',
  next: 'M9 5l7 7-7 7',
  play: 'M8 5v14l11-7z',
  pause: 'M8 5v14M16 5v14',
  move: 'M9 6h.01M15 6h.01M9 12h.01M15 12h.01M9 18h.01M15 18h.01',
  warning: 'M12 4l9 16H3zM12 10v4M12 17v.5',
} as const

export type IconName = keyof typeof paths

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  )
}
