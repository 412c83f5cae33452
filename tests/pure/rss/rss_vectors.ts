/** A packet and its hashes, over its addresses alone and over its addresses and ports. */
export interface RssVector {
  readonly srcIp: string;
  readonly srcPort: number;
  readonly dstIp: string;
  readonly dstPort: number;
  readonly addresses: number;
  readonly all: number;
}

/** "Verifying the RSS Hash Calculation" in Microsoft's documentation of NDIS. */
export const rssVectors: readonly RssVector[] = `
  66.9.149.187 2794 161.142.100.80 1766 323e8fc2 51ccc178
  199.92.111.2 14230 65.69.140.83 4739 d718262a c626b0ea
  24.19.198.95 12898 12.22.207.184 38024 d2d0a5de 5c2b394a
  38.27.205.30 48228 209.142.163.6 2217 82989176 afc7327f
  153.39.163.191 44251 202.188.127.2 1303 5d1809c5 10e828a2
  3ffe:2501:200:1fff::7 2794 3ffe:2501:200:3::1 1766 2cc18cd5 40207d3d
  3ffe:501:8::260:97ff:fe40:efab 14230 ff02::1 4739 0f0c461c dde51bbf
  3ffe:1900:4545:3:200:f8ff:fe21:67cf 44251 fe80::200:f8ff:fe21:67cf 38024 4b61e985 02d1feef
`.trim().split("\n").map((line) => {
  const [source, srcPort, destination, dstPort, addresses, all] = line.trim().split(" ");
  return {
    srcIp: source!,
    srcPort: Number(srcPort),
    dstIp: destination!,
    dstPort: Number(dstPort),
    addresses: parseInt(addresses!, 16),
    all: parseInt(all!, 16),
  };
});
