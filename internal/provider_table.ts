/** The attributes by which a device is recognised. */
export interface DrivenDevice {
  readonly name: string;
  readonly transportType: number;
}

/** Whether a provider drives a device. */
export type Drives = (device: DrivenDevice) => boolean;

/** What differs between providers: a value for each provider that is unlike the others. */
export class ProviderTable<T> {
  readonly #rows: (readonly [drives: Drives, value: T])[] = [];

  add(drives: Drives, value: T): void {
    this.#rows.push([drives, value]);
  }

  /** The value of the provider that drives a device; undefined if that provider is like the others. */
  of(device: DrivenDevice): T | undefined {
    return this.#rows.find(([drives]) => drives(device))?.[1];
  }
}
