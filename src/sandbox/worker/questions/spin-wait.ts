/** Milliseconds. A call of another plugin that has little to do is answered within half of that, if its processor is awake. */
export const spinTime = 0.1
/** So many waits go to sleep at once after one whose end did not come soon. */
export const sleepsAfterFailure = 31
const looksAtATime = 32

/**
 * Looks for the end of a wait again and again for a moment, before the thread goes to sleep: to fall asleep and to be woken
 * takes longer than most answers. Where answers take their time, or there is no processor left for who answers, few waits
 * do so, and it takes next to nothing. Answers whether `isOver` said so in time.
 */
export function createSpinWait(monotonic: () => number): (isOver: () => boolean) => boolean {
  let sleeps = 0
  return (isOver) => {
    if (sleeps > 0) {
      sleeps -= 1
      return false
    }
    const end = monotonic() + spinTime
    do {
      // To ask for the time takes as long as all of these.
      for (let look = 0; look < looksAtATime; look += 1) if (isOver()) return true
    } while (monotonic() < end)
    sleeps = sleepsAfterFailure
    return false
  }
}
