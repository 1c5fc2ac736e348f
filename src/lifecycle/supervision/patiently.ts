/** Does something that writes, as soon as the disk has room for it; on failure it is done once more as a whole. */
export type Patiently = <T>(task: () => Promise<T>) => Promise<T>
