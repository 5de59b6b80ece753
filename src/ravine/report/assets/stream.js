// The page of a stream.
drawFrame();
if (data.events.length) byId("latest").textContent = `Most recent event, at row ${whole(data.events[0].row)}: ${data.events[0].text}.`;
byId("covered").textContent = `Rows are numbered from 0. The model has learned ${counted(data.n_rows, "row")}. The timeline covers all of them; the clusters are described by the recent rows that the model keeps.`;
drawTimelines();
drawPresent();
drawEvents();
