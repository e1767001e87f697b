import "./weather.css"

/** What the agent shows of the weather. */
const Weather = (props: { city: string }) => <div className="p-4 weather-card">The weather in {props.city}</div>

export default { weather: Weather }
