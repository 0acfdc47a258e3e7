import { createRoot } from "react-dom/client";
import { BrowserRouter, Route, Routes } from "react-router";
import { Task } from "./Task.jsx";
import { Tasks } from "./Tasks.jsx";

createRoot(document.getElementById("root")).render(
  <BrowserRouter>
    <Routes>
      <Route path="/" element={<Tasks />} />
      <Route path="/tasks/:id" element={<Task />} />
    </Routes>
  </BrowserRouter>,
);
