import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from ravine import MDH, plot

wine = load_wine(as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(wine.data)
model = MDH(3).fit(X)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
plot.density(model, X, node=1, ax=left)
plot.node(model, X, node=1, ax=right)
