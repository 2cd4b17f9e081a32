"""DMGI (AAAI 2020) as PyTorch Geometric's example builds it: a GCNConv per layer, a bilinear
discriminator against each layer's mean, and one consensus embedding that all layers pull on."""

import torch
import torch.nn.functional as F
from torch_geometric.nn import GCNConv


class Dmgi(torch.nn.Module):
    def __init__(self, layers, attributes, s):
        super().__init__()
        self.x = torch.from_numpy(attributes.toarray())
        self.edges = []
        for a in layers:
            coo = a.tocoo()
            self.edges.append(torch.stack([torch.from_numpy(part).long() for part in (coo.row, coo.col)]))
        nodes, features = attributes.shape
        self.encoders = torch.nn.ModuleList(GCNConv(features, s["dim"]) for _ in layers)
        self.discriminator = torch.nn.Bilinear(s["dim"], s["dim"], 1)
        self.consensus = torch.nn.Parameter(torch.empty(nodes, s["dim"]))
        torch.nn.init.xavier_uniform_(self.consensus)

    def start(self, _stage):
        self.optimizer = torch.optim.Adam(self.parameters(), lr=5e-4, weight_decay=1e-4)

    def objective(self):
        true, false, loss = [], [], 0.0
        for encoder, edges in zip(self.encoders, self.edges):
            h = encoder(F.dropout(self.x, 0.5), edges).relu()
            shuffled = F.dropout(self.x, 0.5)[torch.randperm(len(self.x))]
            corrupted = encoder(shuffled, edges).relu()
            summary = h.mean(0, keepdim=True).expand_as(h)
            for rows, sign in ((h, 1), (corrupted, -1)):
                loss = loss - F.logsigmoid(sign * self.discriminator(rows, summary)).mean()
            true.append(h)
            false.append(corrupted)
        far = lambda rows: (self.consensus - torch.stack(rows).mean(0)).pow(2).sum()
        return loss + 1e-3 * (far(true) - far(false))

    def step(self):
        self.optimizer.zero_grad()
        loss = self.objective()
        loss.backward()
        self.optimizer.step()
        return loss.item()
